// Node's own fetch, as it comes.

import { body, headers, run, Unsupported } from './kit.mjs'

await run(async (call, limits, signal) => {
  if (limits.redirects > 0) {
    throw new Unsupported('fetch follows at most 20 redirects or none; no other number can be set')
  }
  const content = await body(call)
  const signals = [signal]
  if (limits.total_ms) signals.push(AbortSignal.timeout(limits.total_ms))
  return fetch(call.url, {
    method: call.method,
    headers: headers(call),
    body: content,
    duplex: call.stream_body ? 'half' : undefined,
    redirect: limits.redirects === 0 ? 'manual' : 'follow',
    signal: AbortSignal.any(signals),
  })
})
