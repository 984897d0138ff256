import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'

/** Maximum number of requests of a connection that are being handled or whose response is not sent yet. */
const maxUnanswered = 10

/** Requests of a connection: the number without a response, and functions that start the queued ones. */
type Line = { unanswered: number; waiting: (() => void)[] }

/**
 * Limits pipelining: a client that sends requests without reading the responses would otherwise fill the server's memory. Beyond the limit, requests
 * that Node has already parsed are queued, and reading from the connection is paused until an earlier response is sent.
 */
export function boundPipelining(app: FastifyInstance): void {
  const lines = new WeakMap<Socket, Line>()
  app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
    let line = lines.get(socket)
    if (!line) lines.set(socket, (line = openLine(socket)))
    const begin = () => {
      line.unanswered++
      response.once('close', () => (line.unanswered--, beginNext(socket, line)))
      done()
    }
    if (line.unanswered < maxUnanswered) return begin()
    line.waiting.push(begin)
    socket.pause()
  })
}

function openLine(socket: Socket): Line {
  const line: Line = { unanswered: 0, waiting: [] }
  // Node also resumes the socket itself, for example while a body is read.
  socket.on('resume', () => void (line.waiting.length > 0 && socket.pause()))
  return line
}

function beginNext(socket: Socket, line: Line): void {
  // Queued requests of a closed connection are dropped.
  const next = socket.destroyed ? undefined : line.waiting.shift()
  if (!next) return
  next()
  if (line.waiting.length === 0) socket.resume()
}
