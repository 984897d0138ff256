import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { Certificate } from './certificate.ts'

type Options = {
  /** Ports of this machine by the names of hosts, with or without their port. The proxy connects to nothing else. */
  hosts: Record<string, number>
  /** Required user name and password, separated by a colon. */
  credentials: string
  /** Clients connect to the proxy itself with TLS. */
  certificate?: Certificate
}

/** A forward proxy that requires a password, and resolves names that nothing else resolves. */
export class ForwardProxy {
  /** What was forwarded, such as `GET http://host/path` and `CONNECT host:443`. */
  readonly forwarded: string[] = []
  /** What was refused with the status, such as `407 GET http://host/path`. */
  readonly refused: string[] = []
  readonly #options: Options
  #port = 0

  private constructor(options: Options) {
    this.#options = options
  }

  /** Starts a proxy that ends with the test. */
  static async open(options: Options): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(options)
    const handle: RequestListener = (asked, response) => proxy.#forward(asked, response)
    const { certificate } = options
    const server = certificate ? createTlsServer({ cert: certificate.cert, key: certificate.key }, handle) : createServer(handle)
    const sockets = new Set<Duplex>()
    server.on('connection', (socket: Duplex) => void sockets.add(socket))
    server.on('connect', (asked: IncomingMessage, socket: Duplex, head: Buffer) => proxy.#tunnel(asked, socket, head))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    proxy.#port = (server.address() as AddressInfo).port
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return proxy
  }

  /** Returns the address of the proxy with a user name and password. */
  url(credentials = this.#options.credentials): string {
    const encoded = credentials.split(':').map(encodeURIComponent).join(':')
    return `${this.#options.certificate ? 'https' : 'http'}://${encoded}@127.0.0.1:${this.#port}`
  }

  /** Returns the port to forward to, or the status of a refusal. */
  #check(what: string, asked: IncomingMessage, host: string): { port: number } | { status: 407 | 403 } {
    const expected = `Basic ${Buffer.from(this.#options.credentials).toString('base64')}`
    const port = this.#options.hosts[host] ?? this.#options.hosts[host.replace(/:\d+$/, '')]
    const status = asked.headers['proxy-authorization'] !== expected ? 407 : port === undefined ? 403 : null
    if (status === null && port !== undefined) return (this.forwarded.push(what), { port })
    this.refused.push(`${status} ${what}`)
    return { status: status ?? 403 }
  }

  #forward(asked: IncomingMessage, response: ServerResponse): void {
    const url = URL.parse(asked.url ?? '')
    const checked = this.#check(`${asked.method} ${asked.url}`, asked, url?.host ?? '')
    if ('status' in checked || !url) {
      response.writeHead('status' in checked ? checked.status : 400, { 'proxy-authenticate': 'Basic realm="proxy"' }).end('refused')
      return
    }
    const { 'proxy-authorization': _credentials, 'proxy-connection': _connection, ...headers } = asked.headers
    const sent = { host: '127.0.0.1', port: checked.port, method: asked.method, path: `${url.pathname}${url.search}`, headers }
    const outgoing = request(sent, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    asked.pipe(outgoing)
  }

  #tunnel(asked: IncomingMessage, socket: Duplex, head: Buffer): void {
    const checked = this.#check(`CONNECT ${asked.url}`, asked, asked.url ?? '')
    socket.on('error', () => {})
    if ('status' in checked)
      return void socket.end(`HTTP/1.1 ${checked.status} Refused\r\nProxy-Authenticate: Basic realm="proxy"\r\nContent-Length: 0\r\n\r\n`)
    const server = connect(checked.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      server.write(head)
      server.pipe(socket).pipe(server)
    })
    server.on('error', () => socket.destroy())
    socket.on('close', () => server.destroy())
  }
}

/** Starts a server that answers https requests with those of an http server at `port`, and ends with the test. Returns its port. */
export async function terminateTls(port: number, { cert, key }: Certificate): Promise<number> {
  const server = createTlsServer({ cert, key }, (asked, response) => {
    const { method, url: path, headers } = asked
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    asked.pipe(outgoing)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void (server.closeAllConnections(), server.close()))
  return (server.address() as AddressInfo).port
}
