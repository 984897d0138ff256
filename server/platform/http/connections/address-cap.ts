import type { Server } from 'node:http'
import { tooManyConnections } from '../../../errors.ts'
import { parseAddress, type ProxyTrust } from '../client-address.ts'
import { respondAndClose } from '../failures.ts'
import { addressKey } from '../limits/limits.ts'
import type { Log } from '../log.ts'

type Cap = {
  /** Maximum number of concurrent connections per address; 0 for no limit. */
  maximum: number
  /** Whether an address is a trusted proxy. Trusted proxies are not limited. */
  isProxy: ProxyTrust['isProxy']
}

/** Responds with 429 to connections beyond the limit per address (per /64 for IPv6), and closes them. */
export function limitConnections(server: Server, { maximum, isProxy }: Cap, log: Log): void {
  if (maximum === 0) return
  const open = new Map<string, number>()
  const warned = new Set<string>()
  // Runs before the server's own listener, so that no request is read from a rejected connection.
  server.prependListener('connection', (socket) => {
    const address = parseAddress(socket.remoteAddress ?? '')
    if (!address || isProxy(address)) return
    const key = addressKey(address.toString())
    const count = (open.get(key) ?? 0) + 1
    if (count > maximum) {
      if (!warned.has(key))
        log.warning(`${address.toString()} has ${maximum} connections open (MAX_CONNECTIONS_PER_ADDRESS); further ones are refused`)
      warned.add(key)
      // Closes immediately, so that nothing that the client sends is processed.
      return respondAndClose(socket, '429 Too Many Requests', tooManyConnections(), 0)
    }
    open.set(key, count)
    socket.once('close', () => {
      const left = (open.get(key) ?? 1) - 1
      if (left > 0) return void open.set(key, left)
      open.delete(key)
      warned.delete(key)
    })
  })
}
