// What the programs of the SDKs share.

/** An SDK takes the server that it speaks with as an option of its client, so there
 * is one client for each server that the work names. Limits are the same for all of
 * the work. */
export function clientOf(make) {
  const clients = new Map()
  return (call, limits) => {
    const { origin } = new URL(call.url)
    if (!clients.has(origin)) clients.set(origin, make(origin, limits))
    return clients.get(origin)
  }
}

/** The answer of a promise as OpenAI's and Anthropic's SDKs give it: raw and parsed.
 * Parsing reads the raw answer, so its bytes are kept beside. */
export async function answer(promise, isStatus) {
  try {
    const raw = (await promise.asResponse()).clone()
    await promise
    return raw
  } catch (error) {
    // A status that they do not like is thrown, and still an answer. Its bytes are gone;
    // what the error says of them stands behind the status.
    if (isStatus(error)) {
      return { status: error.status, ok: false, words: error.message.replace(`${error.status} `, '') }
    }
    throw error
  }
}
