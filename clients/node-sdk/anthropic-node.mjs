// Anthropic's SDK, as it comes: it sends again by itself.

import Anthropic, { APIError } from '@anthropic-ai/sdk'

import { headers, run, Unsupported } from './kit.mjs'
import { answer, clientOf } from './sdk.mjs'

const client = clientOf((origin) => new Anthropic({ apiKey: 'sk-none', baseURL: origin }))

const model = 'claude-sonnet-4-5'
const operations = {
  create: ({ messages }, options) =>
    messages.create({ model, max_tokens: 100, messages: [{ role: 'user', content: 'one' }] }, options),
  fetch: ({ models }, options) => models.retrieve(model, {}, options),
}

await run(async (call, limits, signal) => {
  const make = operations[call.operation]
  if (!make) throw new Unsupported(`no operation ${call.operation}`)
  const options = { headers: headers(call), signal }
  if (limits.attempts) options.maxRetries = limits.attempts - 1
  return answer(make(client(call), options), (error) => error instanceof APIError && error.status)
})
