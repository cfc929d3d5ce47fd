// undici's `request`, as it comes.

import { request } from 'undici'

import { body, headers, run } from './kit.mjs'

await run(async (call, limits, signal) => {
  const answer = await request(call.url, {
    method: call.method,
    headers: headers(call).flat(),
    body: await body(call),
    signal,
  })
  return { status: answer.statusCode, ok: answer.statusCode < 300, body: answer.body }
})
