import type { IncomingMessage, Server } from 'node:http'

/**
 * Sends `100 Continue` (RFC 9110 §10.1.1) when the handler first reads the body. A request that is rejected earlier gets its response before the
 * client sends the body. Node's default sends `100 Continue` before the handler runs.
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

/** Whether the client waits for `100 Continue` before sending the body. */
export const isWaitingForContinue = (request: IncomingMessage): boolean => waiting.has(request)
const waiting = new WeakSet<IncomingMessage>()
