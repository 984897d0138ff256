import type { Server } from 'node:http'
import { tooManyConnections } from '../../errors.ts'
import { parseAddress, type ProxyTrust } from '../client-address.ts'
import { endWith } from '../failures.ts'
import { addressKey } from '../limits/limits.ts'
import type { Log } from '../log.ts'

type Cap = {
  /** How many connections an address may have at once; 0 for as many as it likes. */
  maximum: number
  /** Whether clients come through this address: a trusted proxy has as many connections as it needs. */
  isProxy: ProxyTrust['isProxy']
}

/** Answers connections beyond the most that one address may have (a /64 of IPv6 is one) with 429, and closes them. */
export function capConnections(server: Server, { maximum, isProxy }: Cap, log: Log): void {
  if (maximum === 0) return
  const open = new Map<string, number>()
  const warned = new Set<string>()
  // Before the server's own listener: it must not read a request from what is closed here.
  server.prependListener('connection', (socket) => {
    const address = parseAddress(socket.remoteAddress ?? '')
    if (!address || isProxy(address)) return
    const key = addressKey(address.toString())
    const count = (open.get(key) ?? 0) + 1
    if (count > maximum) {
      if (!warned.has(key))
        log.warning(`${address.toString()} has ${maximum} connections open (MAX_CONNECTIONS_PER_ADDRESS); further ones are refused`)
      warned.add(key)
      // At once: whatever it sends must not be worked on.
      return endWith(socket, '429 Too Many Requests', tooManyConnections(), 0)
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
