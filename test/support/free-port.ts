import { once } from 'node:events'
import { createServer } from 'node:net'

/** Range of ports below the ephemeral ports, which operating systems assign to outgoing connections and to port 0. */
const [first, count] = [20_000, 10_000]

/** First candidate. The factor spreads test processes with consecutive IDs over the range. */
let next = process.pid * 131

/** Returns a free port of the loopback interface. The system does not assign it to other sockets, even while its server restarts. */
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
