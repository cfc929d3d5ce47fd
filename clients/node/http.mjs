// Node's own http.request with an agent that keeps connections, as it comes.

import http from 'node:http'
import { Readable } from 'node:stream'
import { body, headers, run } from './kit.mjs'

const agent = new http.Agent({ keepAlive: true })

// What `AbortSignal.any` joins is not held by it, so a limit of some seconds was
// collected as garbage before it could fire (nodejs/node 57736).
const held = []

await run(async (call, limits, signal) => {
  const content = await body(call)
  const fields = {}
  for (const [name, value] of headers(call)) (fields[name] ??= []).push(value)
  const signals = [signal]
  if (limits.total_ms) {
    const limit = AbortSignal.timeout(limits.total_ms)
    held.push(limit)
    signals.push(limit)
  }
  return new Promise((resolve, reject) => {
    const request = http.request(call.url, {
      agent,
      method: call.method,
      headers: fields,
      signal: AbortSignal.any(signals),
    })
    let answer
    // Node tells some failures of an answer that has begun on the request only, and
    // ends the answer as if it were whole.
    request.on('error', (error) => {
      reject(error)
      if (!answer?.complete) answer?.destroy(error)
    })
    request.on('response', (begun) => {
      answer = begun
      const status = answer.statusCode
      resolve({ status, ok: status >= 200 && status < 300, body: answer })
    })
    if (content instanceof ReadableStream) Readable.fromWeb(content).pipe(request)
    else request.end(content)
  })
})
