import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Returns a function that reports the number of open connections of a server and the bytes transferred so far, based on the counters of the sockets.
 */
export function watchTraffic(server: Server): () => { open: number; received: number; sent: number } {
  const open = new Set<Socket>()
  const closed = { received: 0, sent: 0 }
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      closed.received += socket.bytesRead
      closed.sent += socket.bytesWritten
    })
  })
  return () => {
    let { received, sent } = closed
    for (const { bytesRead, bytesWritten } of open) [received, sent] = [received + bytesRead, sent + bytesWritten]
    return { open: open.size, received, sent }
  }
}
