// node-fetch, as it comes.

import fetch from 'node-fetch'

import { body, headers, run } from './kit.mjs'

await run(async (call, limits, signal) =>
  fetch(call.url, {
    method: call.method,
    headers: headers(call),
    body: await body(call),
    follow: limits.redirects,
    signal,
  }),
)
