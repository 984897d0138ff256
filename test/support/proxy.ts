import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

type Options = {
  /** Port. The default is a free one. */
  port?: number
  /** Maps a path of the proxy to a path of the server. */
  pathOf?: (path: string) => string
  /** Sends X-Forwarded-For. */
  forwards?: boolean
  /** Maximum size of request bodies in bytes. Larger ones are rejected with 413, as nginx does. */
  largestBody?: number
  /** Value of the `Server` header; null for none. */
  name?: string | null
}

/** Starts a proxy in front of a server and returns its base URL. */
export async function startProxy(server: string, { port = 0, pathOf = (path) => path, ...options }: Options = {}): Promise<string> {
  const { forwards = true, largestBody = Infinity, name = 'proxy' } = options
  const passOn = (incoming: IncomingMessage, reply: ServerResponse) => {
    if (name !== null) reply.setHeader('server', name)
    if (Number(incoming.headers['content-length'] ?? 0) > largestBody) return void reply.writeHead(413).end('<h1>413</h1>')
    const { 'x-forwarded-for': before, ...headers } = incoming.headers
    const client = [before, incoming.socket.remoteAddress].filter(Boolean).join(', ')
    const sent = { method: incoming.method, headers: { ...headers, ...(forwards && { 'x-forwarded-for': client }) } }
    const outgoing = request(new URL(pathOf(String(incoming.url)), server), sent, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
    })
    outgoing.on('error', () => reply.destroy())
    incoming.pipe(outgoing)
  }
  const proxy = createServer(passOn).listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
