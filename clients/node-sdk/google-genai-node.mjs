// Google's Gen AI SDK, as it comes: without `retryOptions` it sends everything once.
// Of a good answer it hands out what it parsed and the header, and no status.

import { ApiError, GoogleGenAI } from '@google/genai'

import { headers, run, Unsupported } from './kit.mjs'
import { clientOf } from './sdk.mjs'

const client = clientOf((baseUrl) => new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl } }))

const model = 'gemini-2.5-flash'
const operations = {
  create: ({ models }, config) => models.generateContent({ model, contents: 'one', config }),
  fetch: ({ models }, config) => models.get({ model, config }),
}

await run(async (call, limits, abortSignal) => {
  const make = operations[call.operation]
  if (!make) throw new Unsupported(`no operation ${call.operation}`)
  const httpOptions = { headers: Object.fromEntries(headers(call)), timeout: limits.total_ms }
  try {
    await make(client(call), { httpOptions, abortSignal })
    return { ok: true }
  } catch (error) {
    // A status that it does not like is thrown, and still an answer.
    if (error instanceof ApiError) return { status: error.status, ok: false, words: error.message }
    throw error
  }
})
