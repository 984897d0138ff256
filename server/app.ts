import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { mountDocsAssets } from './analysis/docs/binary.ts'
import { openFileLimit } from './platform/config/warnings.ts'
import { mountDoctor } from './operations/checks/doctor/answer.ts'
import { consoleSender, mountConsole } from './platform/console/serve.ts'
import { summarizePage } from './registry/packages/page-summary.ts'
import { saveDownloads } from './registry/downloads/tally.ts'
import { saveDecisions } from './registry/mirror/decisions.ts'
import { unsupportedMediaType } from './errors.ts'
import { mountGraphql } from './platform/graphql/server.ts'
import { readDocuments } from './platform/graphql/trusted-documents.ts'
import { mountProbes } from './operations/checks/readiness.ts'
import { limitConnections, limitPipelining, limitTotalConnections } from './platform/http/connections/limits.ts'
import { proxyTrust, readForwardedHeaders } from './platform/http/client-address.ts'
import { continueWhenRead, discardUnreadBodies } from './platform/http/discard.ts'
import { bodyLimit, malformedHandler, sendFailure } from './platform/http/failures.ts'
import { rejectAmbiguousRequests, secureHeaders } from './platform/http/headers.ts'
import { isEmptyBody, readBody, readJsonBody } from './platform/http/bodies.ts'
import { rejectUnrouted } from './platform/http/methods.ts'
import { enforceMinimumRate, type Timings, timingsFor } from './platform/http/connections/pace.ts'
import { oauthMetadata } from './accounts/oauth/client-binary.ts'
import { basePath } from './platform/http/public-url.ts'
import { createJsonRequestWriter, requestIdsFrom, logRequests, requestIds } from './platform/http/request-log.ts'
import { scopeRequests } from './platform/http/request-scope.ts'
import { type Sockets, watchSockets } from './platform/http/connections/sockets.ts'
import { mountMetrics } from './operations/metrics/page.ts'
import { mountReference } from './platform/rest/reference.ts'
import { mountRoutes } from './platform/rest/router.ts'
import { routeGroupsOf, routesOf } from './routes.ts'
import { schema } from './schema.ts'
import type { Services } from './services.ts'

declare module 'fastify' {
  interface FastifyInstance {
    drain: Sockets['drain']
  }
}

const routerOptions = { maxParamLength: 512, ignoreTrailingSlash: false }

/** Builds the HTTP server with REST, GraphQL, binary routes and the console. Does not start listening. */
export async function createApp(
  services: Services,
  timings: Timings = timingsFor(services.config.MAX_UPLOAD_BYTES),
): Promise<FastifyInstance> {
  const { config, log } = services
  const app = Fastify({
    bodyLimit,
    http: { headersTimeout: timings.headersMs, connectionsCheckingInterval: timings.pace.sweepMs, requireHostHeader: false },
    requestTimeout: timings.requestMs,
    connectionTimeout: timings.silenceMs,
    routerOptions,
    // Handles errors that occur before routing.
    frameworkErrors: (error, request, reply) => void sendFailure(log, error, request, reply),
    clientErrorHandler: malformedHandler(log),
    return503OnClosing: false,
    genReqId: config.LOG_FORMAT === 'json' ? requestIdsFrom(requestIds()) : requestIds(),
    schemaController: { compilersFactory: noCompilers },
  })
  acceptJson(app)
  app.setErrorHandler((error, request, reply) => sendFailure(log, error, request, reply))
  readForwardedHeaders(app, proxyTrust(config.TRUST_PROXY))
  observeRequests(app, services)
  rejectAmbiguousRequests(app)
  secureHeaders(app, config.SERVER_URL, log)
  rejectUnrouted(app, { serverUrl: config.SERVER_URL, routerOptions })
  const release = guardConnections(app, services, timings)
  app.addHook('onClose', async () => {
    release()
    await Promise.all([saveDownloads(services), saveDecisions(services)])
  })
  mountProbes(app, services)
  mountDoctor(app, services)
  mountMetrics(app, services)
  await app.register((scope) => mountRegistry(scope, services), { prefix: basePath(config.SERVER_URL) })
  const path = basePath(config.SERVER_URL)
  // RFC 8414, section 3.1: clients insert the well-known path between the host and the path of the issuer.
  if (path) mountRoutes(app, services, schema, [{ ...oauthMetadata, path: `${oauthMetadata.path}${path}` }])
  return app
}

/** Mounts all routes below the path of SERVER_URL. */
async function mountRegistry(scope: FastifyInstance, services: Services): Promise<void> {
  const documents = readDocuments()
  const sendConsole = consoleSender(services, { schema, documents, summarize: summarizePage })
  mountRoutes(scope, services, schema, routesOf(services.config))
  await mountGraphql(scope, services, { schema, documents, sendExplorer: sendConsole })
  mountReference(scope, services, schema, routeGroupsOf(services.config))
  mountDocsAssets(scope)
  await mountConsole(scope, services, sendConsole)
}

/** Sets up request logging, metrics and tracing, depending on the settings. */
function observeRequests(app: FastifyInstance, { config, log, metrics, tracing }: Services): void {
  const isJson = config.LOG_FORMAT === 'json'
  if (isJson || config.SLOW_QUERY_MS !== undefined) scopeRequests(app)
  const listeners = [metrics?.countRequest, tracing?.requests(app)].filter((listener) => listener !== undefined)
  logRequests(app, log, { write: isJson ? createJsonRequestWriter(app) : undefined, listeners, probes: config.LOG_PROBES })
}

function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, body: Readable) =>
    readJsonBody(await readBody(request, body, request.routeOptions.bodyLimit ?? bodyLimit)),
  )
  // An empty body counts as no body: clients such as `curl --data ''` send the content type of a form with it.
  app.addContentTypeParser('*', async (request: FastifyRequest, body: Readable) => {
    if (!(await isEmptyBody(request, body))) throw unsupportedMediaType('application/json')
  })
}

/** Limits the resources that one client can hold and enables a graceful shutdown of connections. Returns a function that stops the timers. */
function guardConnections(app: FastifyInstance, { config, log }: Services, { pace, discard }: Timings): () => void {
  const { isProxy } = proxyTrust(config.TRUST_PROXY)
  limitConnections(app.server, { maximum: config.MAX_CONNECTIONS_PER_ADDRESS, isProxy }, log)
  limitTotalConnections(app.server, openFileLimit(), log)
  const sockets = watchSockets(app.server)
  continueWhenRead(app.server)
  discardUnreadBodies(app.server, discard)
  limitPipelining(app)
  app.decorate('drain', sockets.drain)
  return enforceMinimumRate(sockets.open, pace)
}

// GraphQL and zod validate all input, so routes have no JSON schemas. These stubs keep Fastify from loading its schema compilers.
const compiler = (): never => {
  throw new Error('Routes have no JSON schemas here.')
}
const noCompilers = { buildValidator: compiler, buildSerializer: compiler }
