// The Node kit: what a program under test needs to speak with wirefault. Bun and
// Deno run it as well.
//
// The work is the first line on stdin; reports go to stdout, a line each. Stdin
// does not keep the program alive once the work is read, and nothing here ever
// calls process.exit: a program ends by itself when nothing is left to do, so
// that a retry which a library still has in hand is sent, and seen.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const PROTOCOL = 1
/** Bytes of a body that a report quotes. */
const START = 256
/** Links after which an error chain is cut. */
const LONGEST = 16

/** Thrown by a client that cannot do the work. */
export class Unsupported extends Error {}

/** A list of events ended, in whatever order, before its last one. */
export class StreamEnded extends Error {
  name = 'StreamEnded'
}

let end
/** Resolves when the harness has said `finish`, or can say nothing more: for a program
 * that keeps something running, which it must end then and not before. */
export const finished = new Promise((resolve) => (end = resolve))

function send(message) {
  process.stdout.write(JSON.stringify(message) + '\n')
}

export function progress(call, state) {
  send({ progress: { call, state } })
}

/**
 * Makes all calls of the work: group after group, and in a group so many at the
 * same time as `at_once` says.
 *
 * `make(call, limits, signal)` makes one call and returns a Response of the
 * Fetch standard, or throws. The kit reads the body and reports. An SDK that keeps
 * the bytes to itself returns `status` and `ok`, and `words`: what its error says of them.
 */
export async function run(make) {
  const { work, cancelled } = await session()
  // Node loads its HTTP code when it is first used. On a busy machine that takes
  // most of a second, which is no part of a call and its limits.
  new Request('http://localhost/')
  let supported = true
  const one = async (call) => {
    if (call.pause_ms) await sleep(call.pause_ms)
    progress(call.id, 'pending')
    const signal = cancelled(call.id)
    const events = call.stream && new Events(call.stream.ends_with)
    const report = (shown) => send({ report: { call: call.id, shown, events: events?.ids } })
    try {
      const response = await make(call, work.limits, signal)
      const shown = await describe(response, response.ok ? events : undefined)
      progress(call.id, response.ok ? 'succeeded' : 'failed')
      report({ response: shown })
    } catch (error) {
      if (error instanceof Unsupported) {
        if (supported) send({ unsupported: { reason: error.message } })
        supported = false
        return
      }
      progress(call.id, 'failed')
      report(signal.aborted ? { cancelled: {} } : { error: chain(error) })
    }
  }
  for (const group of groups(work.calls)) {
    // Whoever is free takes the next one.
    const waiting = group.values()
    const worker = async () => {
      for (const call of waiting) if (supported) await one(call)
    }
    await Promise.all(Array.from({ length: group[0].at_once ?? 1 }, worker))
  }
}

/** Calls that are made beside each other; one without a group is alone. */
function groups(calls) {
  const all = []
  for (const call of calls) {
    const last = all.at(-1)
    if (call.group && last?.[0].group === call.group) last.push(call)
    else all.push([call])
  }
  return all
}

/** Reads the work; later lines cancel calls. `finish` needs no answer here: a
 * program that has nothing left to do is gone before it comes. */
async function session() {
  const controllers = new Map()
  const cancelled = (call) => {
    if (!controllers.has(call)) controllers.set(call, new AbortController())
    return controllers.get(call).signal
  }
  // Of Deno's stdin, when it is a pipe, nobody can say that it keeps nothing alive.
  const stdin = process.stdin.unref ? process.stdin : new Socket({ fd: 0, writable: false })
  const work = await new Promise((resolve, reject) => {
    let first = true
    const lines = createInterface({ input: stdin })
    lines.on('line', (line) => {
      const said = JSON.parse(line)
      if (first) {
        first = false
        stdin.unref()
        resolve(said)
      } else if (said.cancel) {
        cancelled(said.cancel.call)
        controllers.get(said.cancel.call).abort()
      } else if (said.finish) {
        lines.close()
      }
    })
    lines.on('close', () => {
      end()
      if (first) reject(new Error('no work on stdin: wirefault starts this program'))
    })
  })
  if (work.protocol !== PROTOCOL) {
    throw new Error(`protocol version ${work.protocol}, this client speaks ${PROTOCOL}`)
  }
  return { work, cancelled }
}

/** The header fields of a call, with its number. */
export function headers(call) {
  return [...(call.headers ?? []), ['Wirefault-Call', String(call.id)]]
}

/** The content of a call as people hand it over: a string, the bytes of a file,
 * a stream, or undefined. */
export async function body(call) {
  if (!call.body) return undefined
  const content = call.body.file === undefined ? call.body.text : await readFile(call.body.file)
  if (!call.stream_body) return content
  const bytes = Buffer.from(content)
  const pieces = []
  for (let at = 0; at < bytes.length; at += 16384) pieces.push(bytes.subarray(at, at + 16384))
  return ReadableStream.from(pieces)
}

/** Reads a list of server-sent events (WHATWG HTML, section 9.2.6) as it comes. */
class Events {
  /** Ids of the events that the caller was given. */
  ids = []
  #decoder = new TextDecoder()
  #rest = ''
  #id
  #data
  #endsWith
  #ended = false

  constructor(endsWith) {
    this.#endsWith = endsWith
  }

  take(bytes) {
    this.#rest += this.#decoder.decode(bytes, { stream: true })
    // A CR at the end may be half of a CRLF.
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop()
    for (const line of lines) this.#line(line)
  }

  /** The list is over: it must have come to its last event. */
  end() {
    if (this.#rest.endsWith('\r')) this.#line(this.#rest.slice(0, -1))
    if (this.#endsWith !== undefined && !this.#ended) {
      throw new StreamEnded('the list ended before its last event')
    }
  }

  #line(line) {
    if (line === '') {
      if (this.#data !== undefined) {
        if (this.#id !== undefined) this.ids.push(this.#id)
        if (this.#data === this.#endsWith) this.#ended = true
      }
      this.#id = this.#data = undefined
      return
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)
    if (field === 'id' && !value.includes('\0')) this.#id = value
    if (field === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
  }
}

/** Reads a Response to its end and describes it without keeping it. One whose body
 * is undefined, and not null, is from a client that shows its caller no bytes, but a
 * status and, at most, some words. */
async function describe(response, events) {
  if (response.body === undefined) return { status: response.status, body_start: response.words?.slice(0, START) }
  const hash = createHash('sha256')
  let bytes = 0
  let start = Buffer.alloc(0)
  for await (const piece of response.body ?? []) {
    hash.update(piece)
    events?.take(piece)
    bytes += piece.length
    if (start.length < START) start = Buffer.concat([start, piece]).subarray(0, START)
  }
  events?.end()
  return {
    status: response.status,
    body_bytes: bytes,
    body_sha256: hash.digest('hex'),
    body_start: start.toString('utf8'),
  }
}

/** The chain of an error and its causes, outermost first. */
export function chain(error) {
  const links = []
  const walk = (error, at) => {
    if (error === undefined || error === null || links.length >= LONGEST) return
    const link = { message: String(error?.message ?? error), at }
    link.type = error?.name ?? typeof error
    if (typeof error?.code === 'string') link.code = error.code
    // Node negates the system's numbers.
    if (typeof error?.errno === 'number') link.errno = Math.abs(error.errno)
    links.push(link)
    walk(error.cause, `${at}.cause`)
    // Where Stripe's SDK keeps what its error arose from.
    if (error.detail instanceof Error) walk(error.detail, `${at}.detail`)
    if (error.raw?.exception instanceof Error) walk(error.raw.exception, `${at}.raw.exception`)
    error.errors?.forEach?.((inner, n) => walk(inner, `${at}.errors[${n}]`))
  }
  walk(error, 'error')
  return links
}
