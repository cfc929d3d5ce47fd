// fetch() in a page of headless Chromium, as it comes. This program drives the browser
// over --remote-debugging-pipe (the Chrome DevTools Protocol without a socket) and adds
// nothing: the page makes the calls, and what the page sees is what is reported.

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { body, finished, headers, run, Unsupported } from '../node/kit.mjs'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  // Nothing of the browser's own goes anywhere.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-default-apps',
  '--disable-extensions',
  '--disable-domain-reliability',
  '--no-pings',
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.*, EXCLUDE *:*',
  // The page may read the answers of every origin, and asks none for leave first.
  '--disable-web-security',
  '--remote-debugging-pipe',
  // Only what ends the browser is worth a line on stderr.
  '--log-level=3',
]

/** What a page may not send (Fetch standard, "forbidden request-header"). */
const FORBIDDEN = /^(accept-(charset|encoding)|access-control-request-.*|connection|content-length|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/i

/** Runs in the page. `tell` brings a text to this program. */
async function call(id, url, init, bytes, total) {
  const say = (what) => tell(JSON.stringify({ id, ...what }))
  const controller = new AbortController()
  aborts.set(id, controller)
  const signals = [controller.signal]
  if (total) signals.push(AbortSignal.timeout(total))
  if (bytes !== null) init.body = Uint8Array.fromBase64(bytes)
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) })
    say({ head: { status: response.status, ok: response.ok } })
    const reader = response.body?.getReader()
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true }
      if (done) break
      say({ piece: value.toBase64() })
    }
    say({ end: true })
  } catch (error) {
    say({ error: { name: error.name, message: error.message } })
  }
}

/** The browser and its one page. */
class Page {
  #browser
  #folder
  #session
  #rest = []
  #sent = 0
  #waiting = new Map()
  #calls = new Map()

  static async open() {
    const page = new Page()
    page.#folder = await mkdtemp(join(tmpdir(), 'wirefault-chromium-'))
    const flags = [...FLAGS, `--user-data-dir=${page.#folder}`]
    page.#browser = spawn('chromium-headless-shell', flags, {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
      // The path of a socket that the browser makes there would be too long.
      cwd: page.#folder,
      env: { ...process.env, TMPDIR: '.' },
    })
    page.#browser.on('error', (error) => page.#fail(error))
    page.#browser.on('exit', () => page.#fail(new Error('the browser has ended')))
    page.#browser.stdio[4].on('data', (piece) => page.#take(piece))
    page.#browser.stdio[3].on('error', () => {})
    const { targetId } = await page.#ask('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await page.#ask('Target.attachToTarget', { targetId, flatten: true })
    page.#session = sessionId
    await page.#ask('Runtime.enable')
    await page.#ask('Runtime.addBinding', { name: 'tell' })
    await page.evaluate(`globalThis.aborts = new Map(); globalThis.call = ${call}; 0`)
    return page
  }

  async close() {
    const ended = new Promise((resolve) => this.#browser.once('exit', resolve))
    this.#ask('Browser.close').catch(() => {})
    await ended
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10 })
  }

  evaluate(expression) {
    return this.#ask('Runtime.evaluate', { expression })
  }

  /** Lets the page make a call; the answer has its head, and its body as it comes. */
  fetch(id, ...rest) {
    const content = new Readable({ read() {} })
    const answer = new Promise((resolve, reject) => {
      this.#calls.set(id, { content, resolve, reject })
    })
    const words = [id, ...rest].map((word) => JSON.stringify(word ?? null))
    this.evaluate(`call(${words}); 0`).catch((error) => this.#calls.get(id).reject(error))
    return answer
  }

  #told({ id, head, piece, end, error }) {
    const { content, resolve, reject } = this.#calls.get(id)
    if (head) resolve({ ...head, body: content })
    if (piece) content.push(Buffer.from(piece, 'base64'))
    if (end) content.push(null)
    if (error) {
      const seen = Object.assign(new Error(error.message), { name: error.name })
      reject(seen)
      // Whoever reads the content already meets the error there.
      content.on('error', () => {})
      content.destroy(seen)
    }
  }

  #ask(method, params = {}) {
    const id = (this.#sent += 1)
    const message = { id, method, params, sessionId: this.#session }
    this.#browser.stdio[3].write(JSON.stringify(message) + '\0')
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  #take(piece) {
    for (;;) {
      const end = piece.indexOf(0)
      if (end < 0) break
      const message = JSON.parse(Buffer.concat([...this.#rest, piece.subarray(0, end)]))
      this.#rest = []
      piece = piece.subarray(end + 1)
      this.#heard(message)
    }
    this.#rest.push(piece)
  }

  #heard({ id, result, error, method, params }) {
    if (method === 'Runtime.bindingCalled') this.#told(JSON.parse(params.payload))
    if (id === undefined) return
    const { resolve, reject } = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error || result.exceptionDetails) reject(new Error(error?.message ?? result.exceptionDetails.text))
    else resolve(result)
  }

  #fail(error) {
    for (const { reject } of [...this.#waiting.values(), ...this.#calls.values()]) reject(error)
  }
}

const page = await Page.open()

await run(async (call, limits, signal) => {
  const forbidden = headers(call).find(([name]) => FORBIDDEN.test(name))
  if (forbidden) throw new Unsupported(`a page may not send ${forbidden[0]}`)
  const content = await body(call)
  const init = { method: call.method, headers: headers(call) }
  if (typeof content === 'string') init.body = content
  const bytes = typeof content === 'string' ? undefined : content?.toString('base64')
  signal.addEventListener('abort', () => page.evaluate(`aborts.get(${call.id}).abort()`))
  return page.fetch(call.id, call.url, init, bytes, limits.total_ms)
})

// Until then the browser stays: a request that it still has in hand is sent, and seen.
await finished
await page.close()
