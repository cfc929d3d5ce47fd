// Deno's fetch, as it comes. Node's kit runs in Deno unchanged.

import { body, headers, run, Unsupported } from '../node/kit.mjs'

await run(async (call, limits, signal) => {
  if (limits.redirects > 0) {
    throw new Unsupported('fetch follows at most 20 redirects or none; no other number can be set')
  }
  const signals = [signal]
  if (limits.total_ms) signals.push(AbortSignal.timeout(limits.total_ms))
  return fetch(call.url, {
    method: call.method,
    headers: headers(call),
    body: await body(call),
    redirect: limits.redirects === 0 ? 'manual' : 'follow',
    signal: AbortSignal.any(signals),
  })
})
