import type { IncomingMessage, Server } from 'node:http'

/**
 * Sends `100 Continue` to clients that wait for it (RFC 9110, section 10.1.1) when their body is first read. A request that is refused before is
 * answered at once. Node's default sends it before the request is handled.
 */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request, response) => {
    const read = request._read
    waiting.add(request)
    request._read = (size) => {
      if (waiting.delete(request) && !response.headersSent) response.writeContinue()
      read.call(request, size)
    }
    server.emit('request', request, response)
  })
}

/** Whether the client of this request waits for `100 Continue` before it sends the body. */
export const isWaitingForContinue = (request: IncomingMessage): boolean => waiting.has(request)
const waiting = new WeakSet<IncomingMessage>()
