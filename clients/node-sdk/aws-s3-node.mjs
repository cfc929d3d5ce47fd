// Amazon's SDK for S3, as it comes: it sends again by itself, in its standard mode.

import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'

import { body, headers, run, Unsupported } from './kit.mjs'
import { clientOf } from './sdk.mjs'

const client = clientOf(
  (endpoint, limits) =>
    new S3Client({
      endpoint,
      forcePathStyle: true,
      region: 'us-east-1',
      credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
      maxAttempts: limits.attempts,
      requestHandler: { connectionTimeout: limits.connect_ms, socketTimeout: limits.idle_ms },
    }),
)

const item = { Bucket: 'bucket', Key: 'item' }
const operations = {
  fetch: async () => new GetObjectCommand(item),
  replace: async (call) => new PutObjectCommand({ ...item, Body: await body(call) }),
  remove: async () => new DeleteObjectCommand(item),
  upload: async (call) => new PutObjectCommand({ ...item, Key: 'file', Body: await body(call) }),
}

await run(async (call, limits, abortSignal) => {
  const make = operations[call.operation]
  if (!make) throw new Unsupported(`no operation ${call.operation}`)
  const command = await make(call)
  const add = (next) => (args) => {
    for (const [name, value] of headers(call)) args.request.headers[name.toLowerCase()] = value
    return next(args)
  }
  command.middlewareStack.add(add, { step: 'build', name: 'fieldsOfTheCall' })
  try {
    const output = await client(call, limits).send(command, { abortSignal })
    const status = output.$metadata.httpStatusCode
    // Of what it puts and deletes it hands out no bytes.
    const content = output.Body && [await output.Body.transformToByteArray()]
    return { status, ok: true, body: content }
  } catch (error) {
    // A status that it does not like is thrown, and still an answer. What it cannot
    // parse it leaves in `$response`, and says so.
    const status = error.$metadata?.httpStatusCode
    const left = error.$response?.body
    const words = typeof left === 'string' ? left : `${error.name}: ${error.message}`
    if (status >= 300) return { status, ok: false, words }
    throw error
  }
})
