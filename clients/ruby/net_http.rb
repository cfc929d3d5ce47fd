# Ruby's Net::HTTP, as it comes.

require 'net/http'
require 'stringio'
require 'uri'

require_relative 'kit'

# Reading keeps the whole answer, as most callers do; an endless one shall take this
# program with it, not the machine.
Process.setrlimit(Process::RLIMIT_AS, 1 << 30)

# Started connections by origin, for each thread: Net::HTTP serves one thread at a time.
def connection(uri, limits)
  connections = Thread.current[:connections] ||= {}
  connections[[uri.hostname, uri.port]] ||= begin
    # nil: a server that the work names is never to be reached through a proxy.
    http = Net::HTTP.new(uri.hostname, uri.port, nil)
    http.open_timeout = limits['connect_ms'] / 1000.0 if limits['connect_ms']
    http.read_timeout = http.write_timeout = limits['idle_ms'] / 1000.0 if limits['idle_ms']
    http.start
  end
end

def request(call, uri)
  request = Net::HTTP.const_get(call.method.capitalize).new(uri, call.headers.to_h)
  content = call.body or return request
  if call.stream_body?
    request.body_stream = StringIO.new(content)
    request['Transfer-Encoding'] = 'chunked'
  else
    request.body = content
  end
  request
end

# Reads a list of events as it comes. Net::HTTP calls this again for the answer to a
# request that it sent again.
def read(answer, events)
  events = nil unless answer.is_a?(Net::HTTPSuccess)
  events&.start
  content = ''.b
  answer.read_body do |piece|
    content << piece
    events&.take(piece)
  end
  content
end

Kit.run do |call, limits|
  uri = URI(call.url)
  http = connection(uri, limits)
  request = request(call, uri)
  if call.events
    content = ''
    answer = http.request(request) { |answer| content = read(answer, call.events) }
    call.events.end if answer.is_a?(Net::HTTPSuccess)
  else
    answer = http.request(request)
    content = answer.body || ''
  end
  Kit::Response.new(answer.code.to_i, content)
end
