// Stripe's SDK, as it comes: it sends again by itself, with an Idempotency-Key of its
// own. It hands out no bytes, and can be told to give up a call by no means. Only what it
// tells Stripe of earlier requests is off.

import Stripe from 'stripe'

import { headers, run, Unsupported } from './kit.mjs'
import { clientOf } from './sdk.mjs'

const client = clientOf((origin) => {
  const { hostname, port } = new URL(origin)
  // Without brackets: Node takes the host as it is.
  const host = hostname.replace(/[[\]]/g, '')
  return new Stripe('sk_test_none', { protocol: 'http', host, port, telemetry: false })
})

const operations = {
  create: ({ charges }, options) => charges.create({ amount: 100, currency: 'usd', source: 'tok_visa' }, options),
  fetch: ({ charges }, options) => charges.retrieve('ch_1', {}, options),
}

await run(async (call, limits) => {
  const make = operations[call.operation]
  if (!make) throw new Unsupported(`no operation ${call.operation}`)
  const options = { headers: Object.fromEntries(headers(call)) }
  if (limits.attempts) options.maxNetworkRetries = limits.attempts - 1
  if (limits.idle_ms) options.timeout = limits.idle_ms
  try {
    const { lastResponse } = await make(client(call), options)
    return { status: lastResponse.statusCode, ok: lastResponse.statusCode < 300 }
  } catch (error) {
    // An error within a 200 is one and the same class, and no answer that was refused.
    if (error.statusCode >= 300) return { status: error.statusCode, ok: false, words: error.message }
    throw error
  }
})
