// Node's fetch in a wrapper as people write it: it sends again whenever the
// error's code is one of those that prove that sending never began. The proof
// holds only while no redirect is followed; which of the two this is, the
// argument says: `follow` or `error`.

import { setTimeout as sleep } from 'node:timers/promises'

import { body, headers, progress, run } from './kit.mjs'

const NEVER_SENT = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const ATTEMPTS = 3
const PAUSE_MS = 300

const redirect = process.argv[2]

await run(async (call, limits, signal) => {
  const content = await body(call)
  const signals = [signal]
  if (limits.total_ms) signals.push(AbortSignal.timeout(limits.total_ms))
  const init = {
    method: call.method,
    headers: headers(call),
    body: content,
    redirect,
    signal: AbortSignal.any(signals),
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetch(call.url, init)
    } catch (error) {
      const last = attempt >= (limits.attempts ?? ATTEMPTS)
      if (last || !NEVER_SENT.has(error.cause?.code)) throw error
      progress(call.id, 'retrying')
      await sleep(PAUSE_MS, undefined, { signal: init.signal })
    }
  }
})
