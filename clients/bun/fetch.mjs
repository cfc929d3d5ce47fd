// Bun's fetch, as it comes. Node's kit runs in Bun unchanged.

import { body, headers, run } from '../node/kit.mjs'

await run(async (call, limits, signal) => {
  const init = {
    method: call.method,
    headers: headers(call),
    body: await body(call),
    signal,
  }
  // Bun's own option, beside `redirect`.
  if (limits.redirects !== undefined) init.maxRedirects = limits.redirects
  if (limits.total_ms) init.signal = AbortSignal.any([signal, AbortSignal.timeout(limits.total_ms)])
  return fetch(call.url, init)
})
