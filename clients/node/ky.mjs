// ky, as it comes: it sends again by itself. A status that it does not like is
// thrown, and still an answer.

import ky from 'ky'

import { body, headers, run } from './kit.mjs'

await run(async (call, limits, signal) => {
  const options = {
    method: call.method,
    headers: headers(call),
    body: await body(call),
    signal,
  }
  if (limits.attempts) options.retry = { limit: limits.attempts - 1 }
  return ky(call.url, options).catch((error) => {
    if (error.name === 'HTTPError') return error.response
    throw error
  })
})
