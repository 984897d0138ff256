import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to connections, and to whoever listens on any port. */
const [first, count] = [20_000, 10_000]

/** Processes of the tests, whose numbers are near each other, begin apart from each other. */
let next = process.pid * 131

/** A port of the loopback interface that nobody uses, and that nobody is given by chance before it is used, or while its server restarts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % count)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
    throw error
  }
  probe.close()
  await once(probe, 'close')
  return true
}
