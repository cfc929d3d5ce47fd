// axios with axios-retry, as its README begins. A status that it does not like is
// thrown, and still an answer.

import axios from 'axios'
import axiosRetry from 'axios-retry'

import { body, headers, run } from './kit.mjs'

// A server that the work names is never to be reached through a proxy.
const client = axios.create({ proxy: false })
axiosRetry(client)

await run(async (call, limits, signal) => {
  const request = {
    method: call.method,
    url: call.url,
    headers: Object.fromEntries(headers(call)),
    data: await body(call),
    responseType: 'arraybuffer',
    signal,
  }
  if (limits.redirects !== undefined) request.maxRedirects = limits.redirects
  if (limits.attempts) request['axios-retry'] = { retries: limits.attempts - 1 }
  const answer = await client.request(request).catch((error) => {
    // Of an answer that broke off there is no content to show.
    if (error.response?.data) return error.response
    throw error
  })
  return { status: answer.status, ok: answer.status < 300, body: [answer.data] }
})
