// got, as it comes: it sends again by itself. A status that it does not like is
// thrown, and still an answer.

import got from 'got'

import { body, headers, run } from './kit.mjs'

await run(async (call, limits, signal) => {
  const options = {
    method: call.method,
    headers: Object.fromEntries(headers(call)),
    body: await body(call),
    responseType: 'buffer',
    timeout: {},
    signal,
  }
  if (limits.attempts) options.retry = { limit: limits.attempts - 1 }
  if (limits.redirects !== undefined) options.maxRedirects = limits.redirects
  if (limits.connect_ms) options.timeout.connect = limits.connect_ms
  if (limits.idle_ms) options.timeout.socket = limits.idle_ms
  const answer = await got(call.url, options).catch((error) => {
    // Of an answer that broke off there is no status to show.
    if (error.name === 'HTTPError') return error.response
    throw error
  })
  return { status: answer.statusCode, ok: answer.statusCode < 300, body: [answer.rawBody] }
})
