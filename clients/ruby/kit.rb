# The Ruby kit: what a program under test needs to speak with wirefault.
#
# The work is the first line on stdin; reports go to stdout, a line each. A Ruby
# program ends with its main thread, whatever others still do, so it waits for `finish`
# before it ends: a request that a library still has in hand is sent, and seen. Only
# the standard library.

require 'digest'
require 'digest/sha2' # else its first use loads it, which two threads must not do at once
require 'json'

module Kit
  PROTOCOL = 1
  # Bytes of a body that a report quotes.
  START = 256
  # Links after which an error chain is cut.
  LONGEST = 16

  # Raised by a client that cannot do the work.
  class Unsupported < StandardError; end

  # A list of events ended, in whatever order, before its last one.
  class StreamEnded < StandardError; end

  # What a client showed its caller: a status and a whole body.
  Response = Struct.new(:status, :body) do
    def shown
      {
        status: status,
        body_bytes: body.bytesize,
        body_sha256: Digest::SHA256.hexdigest(body),
        body_start: Kit.text(body.byteslice(0, START)),
      }
    end
  end

  # Reads a list of server-sent events (WHATWG HTML, section 9.2.6) as it comes.
  class Events
    # Ids of the events that the caller was given.
    attr_reader :ids

    def initialize(ends_with)
      @ids = []
      @ends_with = ends_with
      start
    end

    # Another list begins, with what was read before given to the caller already.
    def start
      @rest = ''.b
      @begun = @ended = false
      @id = @data = nil
    end

    def take(piece)
      @rest << piece
      # A CR at the end may be half of a CRLF.
      while (line = @rest.slice!(/\A[^\r\n]*(?:\r\n|\n|\r(?!\z))/n))
        line(Kit.text(line.sub(/[\r\n]+\z/n, '')))
      end
    end

    # The list is over: it must have come to its last event.
    def end
      line(Kit.text(@rest.chomp("\r"))) if @rest.end_with?("\r")
      raise StreamEnded, 'the list ended before its last event' if @ends_with && !@ended
    end

    private

    def line(line)
      line = line.delete_prefix("\u{feff}") unless @begun
      @begun = true
      return event if line.empty?
      field, _, value = line.partition(':')
      value = value.delete_prefix(' ')
      if field == 'id' && !value.include?("\0")
        @id = value
      elsif field == 'data'
        @data = @data ? "#{@data}\n#{value}" : value
      end
    end

    def event
      if @data
        @ids << @id if @id
        @ended ||= @data == @ends_with
      end
      @id = @data = nil
    end
  end

  # One call of the work; what it does not say is nil.
  class Call
    attr_reader :id, :method, :url, :events

    def initialize(said)
      @said = said
      @id, @method, @url = said.values_at('id', 'method', 'url')
      stream = said['stream']
      @events = stream && Events.new(stream['ends_with'])
    end

    # The header fields, with the number of the call.
    def headers
      [*@said['headers'], ['Wirefault-Call', @id.to_s]]
    end

    # The content: bytes, or nil.
    def body
      content = @said['body'] or return nil
      content['file'] ? File.binread(content['file']) : content['text'].b
    end

    def stream_body? = @said['stream_body'] == true
    def pause = @said.fetch('pause_ms', 0) / 1000.0
    def group = @said.fetch('group', 0)
    def at_once = @said.fetch('at_once', 1)
  end

  OUT = Mutex.new

  module_function

  # Makes all calls of the work: group after group, and in a group so many at the
  # same time as `at_once` says, in threads.
  #
  # The block makes one call and returns a Response, or raises.
  def run(&make)
    line = $stdin.gets or abort 'no work on stdin: wirefault starts this program'
    work = JSON.parse(line)
    if work['protocol'] != PROTOCOL
      abort "protocol version #{work['protocol']}, this client speaks #{PROTOCOL}"
    end
    calls = work['calls'].map { |said| Call.new(said) }
    together = ->(one, other) { one.group.positive? && one.group == other.group }
    calls.slice_when { |one, other| !together.(one, other) }.each do |group|
      beside(group) { |call| one(call, work['limits'], &make) }
    end
    # The end of stdin counts as `finish`, since nothing more can come.
    nil until JSON.parse($stdin.gets || '{"finish":{}}').key?('finish')
  rescue Unsupported => error
    send_message({ unsupported: { reason: error.message } })
  end

  # Whoever is free takes the next one.
  def beside(group, &one)
    at_once = group.first.at_once
    return group.each(&one) if at_once == 1
    waiting = Thread::Queue.new(group).close
    workers = Array.new(at_once) do
      Thread.new do
        Thread.current.report_on_exception = false
        while (call = waiting.pop)
          one.(call)
        end
      end
    end
    workers.each(&:join)
  end

  # Makes one call and reports it.
  def one(call, limits)
    sleep call.pause if call.pause.positive?
    progress(call, 'pending')
    begin
      response = yield call, limits
      shown = { response: response.shown }
      state = response.status.between?(200, 299) ? 'succeeded' : 'failed'
    rescue Unsupported
      raise
    rescue StandardError, NoMemoryError => error
      shown = { error: chain(error) }
      state = 'failed'
    end
    progress(call, state)
    send_message({ report: { call: call.id, shown: shown, events: call.events&.ids }.compact })
  end

  def progress(call, state)
    send_message({ progress: { call: call.id, state: state } })
  end

  # Writes one message: a whole line, out at once.
  def send_message(message)
    OUT.synchronize do
      $stdout.write("#{JSON.generate(message)}\n")
      $stdout.flush
    end
  end

  # The chain of an error and its causes, outermost first.
  def chain(error)
    links = []
    at = 'error'
    while error && links.size < LONGEST
      link = { type: error.class.name, message: text(error.message), at: at }
      if error.is_a?(SystemCallError)
        link[:errno] = error.errno
        # The class of such an error is named by its code: Errno::ECONNRESET.
        link[:code] = error.class.name.delete_prefix('Errno::')
      end
      links << link
      error = error.cause
      at += '.cause'
    end
    links
  end

  # Bytes as text, with what is no UTF-8 replaced.
  def text(bytes)
    bytes.dup.force_encoding(Encoding::UTF_8).scrub
  end
end
