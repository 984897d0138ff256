import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { getPriority, setPriority } from 'node:os'

// Requests every URL each 20 milliseconds until stdin ends, then prints the response times in milliseconds as JSON. Runs in its own process with a
// higher priority where permitted, because the process that generates the load would measure late.
const [authorization = '', ...urls] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const durations: number[] = []
const pending = new Set<Promise<void>>()

async function measure(url: string): Promise<void> {
  const started = performance.now()
  const [answer] = await once(get(url, { agent, headers: { authorization } }), 'response')
  await once(answer.resume(), 'end')
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode}`)
  durations.push(performance.now() - started)
}

function ask(): void {
  for (const url of urls) {
    const measuring = measure(url).finally(() => pending.delete(measuring))
    pending.add(measuring)
  }
}

try {
  setPriority(Math.max(getPriority() - 10, -20))
} catch {
  // Only root may raise priorities.
}
// The first responses of a process and a connection are slower, so they are excluded.
await Promise.all(urls.map(measure))
durations.length = 0
const timer = setInterval(ask, 20)
process.stdout.write('ready\n')
await once(process.stdin.resume(), 'end')
clearInterval(timer)
await Promise.all(pending)
agent.destroy()
process.stdout.write(`${JSON.stringify(durations)}\n`)
