import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Limits for reading the rest of a request body after the response, in bytes and milliseconds. */
export type DiscardBounds = {
  /** Maximum number of bytes read of one body. */
  maxBytes: number
  /** Maximum duration of reading a body. */
  maxMs: number
  /** Timeout without any data from the client. */
  silenceMs: number
  /** How long the server keeps reading after closing its side of the connection. */
  lingerMs: number
}

/**
 * Reads and discards the rest of a request body after the response, because many clients send the whole body before they read. If the server closed
 * the connection earlier, the response would be lost. At a limit, the server closes its side of the connection, and soon the whole connection.
 */
export function discardUnreadBodies(server: Server, bounds: DiscardBounds): void {
  server.prependListener('request', (request, response) => {
    if (bodyLength(request) === 0) return
    // Runs before Node's own listener, which closes the connection after its last response.
    response.prependListener('finish', () => {
      if (!request.complete && !request.socket.destroyed) discardRest(request, bounds)
    })
  })
}

function discardRest(request: IncomingMessage, { maxBytes, maxMs, silenceMs, lingerMs }: DiscardBounds): void {
  const { socket } = request
  let bytes = 0
  let isLast = false
  const [whole, silence] = [setTimeout(stop, maxMs).unref(), setTimeout(stop, silenceMs).unref()]
  const clearTimers = () => (clearTimeout(whole), clearTimeout(silence))
  function stop(): void {
    clearTimers()
    if (socket.writableEnded) return
    socket.end()
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }
  stops.set(socket, stop)
  socket.once('close', clearTimers)
  // Node calls `destroySoon` after the last response of a connection. The default closes the connection without reading the rest of the body.
  socket.destroySoon = () => void (isLast = true)
  request.once('end', () => {
    clearTimers()
    socket.off('close', clearTimers)
    stops.delete(socket)
    Reflect.deleteProperty(socket, 'destroySoon')
    if (isLast || socket.writableEnded) socket.destroySoon()
  })
  request.unpipe()
  request.removeAllListeners('readable').removeAllListeners('data')
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) stop()
    silence.refresh()
    request.pause()
    resumeInTurn(request)
  })
  request.resume()
  if (isWaitingForContinue(request) || isLongerThan(request, maxBytes)) stop()
}

/** Resumes one body per turn of the event loop, so that many fast senders delay other requests by one chunk at most. */
function resumeInTurn(request: IncomingMessage): void {
  if (paused.push(request) === 1) setImmediate(resumeNext)
}
const paused: IncomingMessage[] = []

function resumeNext(): void {
  paused.shift()?.resume()
  if (paused.length > 0) setImmediate(resumeNext)
}

const isLongerThan = (request: IncomingMessage, bytes: number): boolean => bodyLength(request) < Infinity && bodyLength(request) > bytes

/** Stops discarding a body on this connection and closes it gracefully. Returns false if no body is being discarded. */
export function stopDiscarding(socket: Socket): boolean {
  const stop = stops.get(socket)
  stop?.()
  return stop !== undefined
}
const stops = new WeakMap<Socket, () => void>()

/** Maximum size of an unread body after which the connection stays open. */
const smallBytes = 64 * 1024

/** Whether the connection closes after this response, because a body that is large or of unknown size is still arriving. */
export const closesAfterAnswer = (request: IncomingMessage): boolean =>
  !request.complete && (bodyLength(request) > smallBytes || isWaitingForContinue(request))

/** Returns the body length announced by the headers; infinite for a chunked body. */
const bodyLength = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity

/**
 * Sends `100 Continue` (RFC 9110 §10.1.1) when the handler first reads the body, so that a rejected request gets its response without sending the
 * body.
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
const isWaitingForContinue = (request: IncomingMessage): boolean => waiting.has(request)
const waiting = new WeakSet<IncomingMessage>()
