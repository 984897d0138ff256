import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { openAgent, proxyAuthorization, proxyFor, type ProxySettings } from '../outbound/proxy.ts'

/** Path of the proxy's socket inside the sandbox, and local port that is forwarded to it. */
export const proxySocket = '/run/gate'
export const proxyPort = 3128

const mostConnections = 64

type Sending = { request: typeof import('node:http').request; proxies: ProxySettings }

/** Opens an HTTP proxy on a Unix socket, the only network access of a job, that allows only these origins, such as `https://pub.dev`. It uses the forward proxies of the server. */
export async function openProxy(
  origins: readonly string[],
  proxies: ProxySettings = {},
): Promise<{ path: string; close: () => Promise<void> }> {
  // Loaded on demand, because importing `node:http` also loads `fetch`.
  const http = await import('node:http')
  const folder = await mkdtemp(join(tmpdir(), folderPrefix))
  const path = join(folder, 'gate')
  const open = new Set(origins.map((origin) => hostOf(new URL(origin))))
  const sockets = new Set<Duplex>()
  const server = http.createServer((inward, answer) => void forward(inward, answer, open, { request: http.request, proxies }))
  server.maxConnections = mostConnections
  server.on('connection', (socket: Socket) => track(sockets, socket))
  server.on('connect', (inward: IncomingMessage, socket: Duplex, head: Buffer) =>
    tunnel(inward.url ?? '', socket, head, { open, sockets, proxies }),
  )
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  // Jobs of a server that runs as root have other accounts. The parent folder keeps all other accounts out.
  await chmod(path, 0o666)
  const close = async () => {
    server.close()
    for (const socket of sockets) socket.destroy()
    await rm(folder, { recursive: true, force: true })
  }
  return { path, close }
}

/** Prefix of socket folders. They are in the temporary directory, because socket paths are limited in length. */
const folderPrefix = 'snug-gate-'

/** Removes the sockets of killed processes, on which nothing listens anymore. */
export async function removeStaleProxies(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(folderPrefix))
  for (const folder of names.map((name) => join(tmpdir(), name))) {
    const socket = connect(join(folder, 'gate'))
    const code = await once(socket, 'connect').then(
      () => '',
      (error: NodeJS.ErrnoException) => error.code,
    )
    socket.destroy()
    if (code === 'ECONNREFUSED') await rm(folder, { recursive: true, force: true })
  }
}

const hostOf = ({ protocol, hostname, port }: URL) => `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`

function track(sockets: Set<Duplex>, socket: Duplex): void {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
}

const shut = 'HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n'

type Gate = { open: ReadonlySet<string>; sockets: Set<Duplex>; proxies: ProxySettings }

function tunnel(target: string, socket: Duplex, head: Buffer, { open, sockets, proxies }: Gate): void {
  track(sockets, socket)
  const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d{1,5})$/.exec(target) ?? []
  if (!open.has(target) || Number(port) > 65_535) return void socket.end(shut)
  const join = (outward: Socket) => {
    track(sockets, outward)
    outward.on('close', () => socket.destroy())
    socket.on('close', () => outward.destroy())
    if (socket.destroyed) outward.destroy()
  }
  const begin = (outward: Socket) => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    outward.write(head)
    outward.pipe(socket).pipe(outward)
  }
  const proxy = proxyFor(proxies, new URL(`https://${target}`))
  if (proxy) {
    connectThrough(proxy, target).then(
      (outward) => (join(outward), begin(outward)),
      () => socket.end(badGateway),
    )
    return
  }
  const outward = connect({ host, port: Number(port) }, () => begin(outward))
  join(outward)
}

const badGateway = 'HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n'

/** Opens a connection to `host:port` through a forward proxy. */
async function connectThrough(proxy: URL, target: string): Promise<Socket> {
  const { request } = proxy.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const authorization = proxyAuthorization(proxy)
  const headers = { host: target, ...(authorization !== null && { 'proxy-authorization': authorization }) }
  const { hostname, port } = proxy
  const options = { host: hostname.replace(/[[\]]/g, ''), port: port || undefined, method: 'CONNECT', path: target, headers, agent: false }
  return new Promise((resolve, reject) => {
    request({ ...options, signal: AbortSignal.timeout(connectMs) })
      .on('connect', (answer: IncomingMessage, outward: Socket) => {
        if (answer.statusCode === 200) return resolve(outward)
        outward.destroy()
        reject(new Error(`the proxy answered ${answer.statusCode}`))
      })
      .on('error', reject)
      .end()
  })
}

/** Timeout of a connection through a forward proxy, in milliseconds. */
const connectMs = 15_000

/** Forwards a plain HTTP request, which contains the absolute URL. */
async function forward(
  inward: IncomingMessage,
  answer: ServerResponse,
  open: ReadonlySet<string>,
  { request, proxies }: Sending,
): Promise<void> {
  const url = URL.canParse(inward.url ?? '') ? new URL(inward.url ?? '') : null
  if (url?.protocol !== 'http:' || !open.has(hostOf(url))) return void answer.writeHead(403).end()
  const { 'proxy-connection': _kept, 'proxy-authorization': _given, ...headers } = inward.headers
  const agent = await openAgent(proxies, url)
  const options = { method: inward.method ?? 'GET', headers: { ...headers, host: url.host }, ...(agent && { agent }) }
  const outward = request(url, options, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(answer)
  })
  outward.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()))
  answer.on('close', () => outward.destroy())
  inward.pipe(outward)
}
