// OpenAI's SDK, as it comes: it sends again by itself.

import OpenAI, { APIError } from 'openai'

import { headers, run, Unsupported } from './kit.mjs'
import { answer, clientOf } from './sdk.mjs'

const client = clientOf((origin) => new OpenAI({ apiKey: 'sk-none', baseURL: `${origin}/v1` }))

const operations = {
  create: ({ chat }, options) =>
    chat.completions.create({ model: 'gpt-5', messages: [{ role: 'user', content: 'one' }] }, options),
  fetch: ({ chat }, options) => chat.completions.retrieve('chatcmpl-1', options),
}

await run(async (call, limits, signal) => {
  const make = operations[call.operation]
  if (!make) throw new Unsupported(`no operation ${call.operation}`)
  const options = { headers: headers(call), signal }
  if (limits.attempts) options.maxRetries = limits.attempts - 1
  return answer(make(client(call), options), (error) => error instanceof APIError && error.status)
})
