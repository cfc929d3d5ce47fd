// undici's `request` through its RetryAgent, defaults.

import { Agent, request, RetryAgent } from 'undici'

import { body, headers, run } from './kit.mjs'

const agents = new Map()

function agent(attempts) {
  const options = attempts ? { maxRetries: attempts - 1 } : {}
  if (!agents.has(attempts)) agents.set(attempts, new RetryAgent(new Agent(), options))
  return agents.get(attempts)
}

await run(async (call, limits, signal) => {
  const answer = await request(call.url, {
    dispatcher: agent(limits.attempts),
    method: call.method,
    headers: headers(call).flat(),
    body: await body(call),
    signal,
  }).catch((error) => {
    // It throws what it would send again, and has no content of it. The same
    // error tells that an answer could not be gone on with; then it is none.
    if (error.name === 'RequestRetryError' && error.statusCode >= 300) return error
    throw error
  })
  return { status: answer.statusCode, ok: answer.statusCode < 300, body: answer.body }
})
