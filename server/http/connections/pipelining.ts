import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'

/** So many requests of one connection are worked on, or have an answer that is not sent yet. */
const maxUnanswered = 10

/** The requests of a connection: how many are unanswered, and what begins those that wait for it. */
type Line = { unanswered: number; waiting: (() => void)[] }

/**
 * Bounds what a client has the server hold that sends requests and does not take the answers: the next one of its connection waits until an
 * earlier one is answered. What Node read already waits here; more is not read from the connection meanwhile.
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
  // Node resumes for reasons of its own, such as a body that is read.
  socket.on('resume', () => void (line.waiting.length > 0 && socket.pause()))
  return line
}

function beginNext(socket: Socket, line: Line): void {
  // What waits when the connection ends is never begun: nobody would get the answer.
  const next = socket.destroyed ? undefined : line.waiting.shift()
  if (!next) return
  next()
  if (line.waiting.length === 0) socket.resume()
}
