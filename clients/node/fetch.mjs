// Node's own fetch, as it comes.

import { body, headers, run, Unsupported } from './kit.mjs'

// What `AbortSignal.any` joins is not held by it, so a limit of some seconds was
// collected as garbage before it could fire (nodejs/node 57736).
const held = []

await run(async (call, limits, signal) => {
  if (limits.redirects > 0) {
    throw new Unsupported('fetch follows at most 20 redirects or none; no other number can be set')
  }
  const content = await body(call)
  const signals = [signal]
  if (limits.total_ms) {
    const limit = AbortSignal.timeout(limits.total_ms)
    held.push(limit)
    signals.push(limit)
  }
  return fetch(call.url, {
    method: call.method,
    headers: headers(call),
    body: content,
    duplex: call.stream_body ? 'half' : undefined,
    redirect: limits.redirects === 0 ? 'manual' : 'follow',
    signal: AbortSignal.any(signals),
  })
})
