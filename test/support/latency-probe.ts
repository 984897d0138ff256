import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { getPriority, setPriority } from 'node:os'

// Asks for every path each twenty milliseconds until its input ends, and writes how long each answer took, in milliseconds. A process of its
// own, before all others where that is allowed: the one that makes the load would be late to notice the answers.
const [authorization = '', ...urls] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const took: number[] = []
const underWay = new Set<Promise<void>>()

async function measure(url: string): Promise<void> {
  const started = performance.now()
  const [answer] = await once(get(url, { agent, headers: { authorization } }), 'response')
  await once(answer.resume(), 'end')
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode}`)
  took.push(performance.now() - started)
}

function ask(): void {
  for (const url of urls) {
    const measuring = measure(url).finally(() => underWay.delete(measuring))
    underWay.add(measuring)
  }
}

try {
  setPriority(Math.max(getPriority() - 10, -20))
} catch {
  // Only the administrator of a machine may raise a priority.
}
// The first answers of a connection and a program are slower, and no part of the load.
await Promise.all(urls.map(measure))
took.length = 0
const timer = setInterval(ask, 20)
process.stdout.write('ready\n')
await once(process.stdin.resume(), 'end')
clearInterval(timer)
await Promise.all(underWay)
agent.destroy()
process.stdout.write(`${JSON.stringify(took)}\n`)
