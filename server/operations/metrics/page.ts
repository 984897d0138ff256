import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Config } from '../../platform/config/config.ts'
import { ApiError, methodNotAllowed, missingAuthentication, notFound } from '../../errors.ts'
import { noStore } from '../../platform/http/caching/conditional.ts'
import { equalSecrets } from '../../platform/http/keys.ts'
import { explainListenError } from '../../platform/http/connections/listening.ts'
import type { Log } from '../../platform/http/log.ts'
import { rejectOtherMethods } from '../../platform/http/methods.ts'
import { basePath } from '../../platform/http/public-url.ts'
import type { Gauges } from './gauges.ts'

type Shown = { config: Config; log: Log; metrics: Gauges | null }

/** Monitors the server's connections and serves `/metrics`, unless METRICS_PORT is set. */
export function mountMetrics(app: FastifyInstance, { config, metrics }: Shown): void {
  if (!metrics) return
  watchConnections(app.server, metrics)
  if (config.METRICS_PORT !== undefined) return
  for (const path of new Set(['/metrics', `${basePath(config.SERVER_URL)}/metrics`])) {
    app.get(path, async (request: FastifyRequest, reply: FastifyReply) => {
      requireToken(config, request.headers.authorization)
      return reply.type(metrics.contentType).send(await metrics.text())
    })
    rejectOtherMethods(app, path, ['GET'])
  }
}

/** Serves `/metrics` on METRICS_PORT, if it is set. The server does not keep the process alive. */
export async function listenForMetrics({ config, log, metrics }: Shown): Promise<Server | null> {
  const { METRICS_PORT, METRICS_HOST = config.HOST } = config
  if (!metrics || METRICS_PORT === undefined) return null
  // Loaded on demand, because importing `node:http` also loads `fetch`.
  const { createServer } = await import('node:http')
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 },
    (request, response) => {
      void answer(config, metrics, request, response).catch((error: unknown) => {
        if (!(error instanceof ApiError)) log.error(`metrics: ${String(error)}`)
        sendFailure(response, error)
      })
    },
  )
  server.maxConnections = 100
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const place = { host: METRICS_HOST, port: METRICS_PORT, settings: { host: 'METRICS_HOST', port: 'METRICS_PORT' } }
  server
    .once('error', (error) => reject(explainListenError(error, place)))
    .listen(METRICS_PORT, METRICS_HOST, resolve)
    .unref()
  await promise
  const { address, port, family } = server.address() as AddressInfo
  log.info(`Metrics are at http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`)
  return server
}

async function answer(config: Config, metrics: Gauges, { url = '', method, headers }: IncomingMessage, response: ServerResponse) {
  if (url.split('?', 1)[0] !== '/metrics') throw notFound('Not found.')
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed(allowed)
  requireToken(config, headers.authorization)
  const text = await metrics.text()
  response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': noStore }).end(text)
}

const allowed = 'GET, HEAD'

function sendFailure(response: ServerResponse, error: unknown): void {
  const { status, code, message } =
    error instanceof ApiError ? error : { status: 500, code: 'InternalError', message: 'Internal error. See the server log.' }
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': noStore,
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 405 && { allow: allowed }),
  }
  response.writeHead(status, headers).end(JSON.stringify({ error: { code, message } }))
}

/** @throws ApiError MissingAuthentication if a token is configured and the request does not contain it. */
function requireToken({ METRICS_TOKEN }: Config, authorization = ''): void {
  if (METRICS_TOKEN === undefined) return
  const given = /^Bearer +(.+)$/i.exec(authorization)?.[1]?.trim()
  if (given === undefined || !equalSecrets(given, METRICS_TOKEN)) throw missingAuthentication('Send METRICS_TOKEN as a Bearer token.')
}

function watchConnections(server: Server, metrics: Gauges): void {
  const traffic = watchTraffic(server)
  metrics.add({
    name: 'connections',
    gauges: {
      snug_http_connections: { help: 'Open client connections.' },
      snug_http_received_bytes_total: { help: 'Bytes received from clients.', isTotal: true },
      snug_http_sent_bytes_total: { help: 'Bytes sent to clients.', isTotal: true },
    },
    read() {
      const { open, received, sent } = traffic()
      return {
        snug_http_connections: [{ value: open }],
        snug_http_received_bytes_total: [{ value: received }],
        snug_http_sent_bytes_total: [{ value: sent }],
      }
    },
  })
}

/** Returns a function that reports the open connections of a server and the bytes transferred so far. */
function watchTraffic(server: Server): () => { open: number; received: number; sent: number } {
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
