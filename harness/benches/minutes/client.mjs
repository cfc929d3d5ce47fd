// `retry URL` waits as long as Retry-After says; `poll URL` asks every 15 s, for
// five minutes; `limit URL` gives a call four minutes.
import { setTimeout as sleep } from 'node:timers/promises'

const [, , what, url] = process.argv
if (what === 'retry') {
  const refused = await fetch(url)
  await refused.arrayBuffer()
  await sleep(1000 * refused.headers.get('retry-after'))
  await fetch(url)
} else if (what === 'limit') {
  const signal = AbortSignal.timeout(240000)
  await fetch(url, { signal }).then(answer => answer.text()).catch(() => {})
} else {
  for (let asked = 0; asked < 20; asked += 1) {
    const answer = await fetch(url)
    await answer.arrayBuffer()
    await sleep(15000)
  }
}
process.exit()
