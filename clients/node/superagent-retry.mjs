// superagent with its own `retry(2)`. A status that it does not like is thrown, and
// still an answer.

import superagent from 'superagent'

import { body, headers, run } from './kit.mjs'

await run(async (call, limits, signal) => {
  const request = superagent(call.method, call.url)
    .set(Object.fromEntries(headers(call)))
    .retry(limits.attempts ? limits.attempts - 1 : 2)
    .responseType('blob')
  if (limits.redirects !== undefined) request.redirects(limits.redirects)
  const content = await body(call)
  if (content !== undefined) request.send(content)
  signal.addEventListener('abort', () => request.abort())
  const answer = await request.catch((error) => {
    // Of an answer that broke off there is no content to show.
    if (Buffer.isBuffer(error.response?.body)) return error.response
    throw error
  })
  // An answer without content has an object there, which is no bytes.
  const bytes = Buffer.isBuffer(answer.body) ? [answer.body] : []
  return { status: answer.status, ok: answer.status < 300, body: bytes }
})
