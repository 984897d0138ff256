import { SpanKind } from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type RequestEnd, shownPath } from '../http/request-log/request-log.ts'
import { wrapRequests } from '../http/request-scope.ts'
import { routeOf } from '../http/request-log/route-of.ts'
import type { Root, Spans } from './spans.ts'

/** Creates a span for each request, following OpenTelemetry's semantic conventions for HTTP. Returns a function that ends the span. */
export function traceRequests(app: FastifyInstance, spans: Spans, address: URL): (end: RequestEnd) => void {
  const roots = new WeakMap<FastifyRequest, Root>()
  const begin = (request: FastifyRequest): Root => {
    const { method, headers, is404 } = request
    const route = is404 ? undefined : routeOf(request)
    const attributes = {
      'http.request.method': method,
      'url.scheme': address.protocol.slice(0, -1),
      'url.path': shownPath(request),
      'server.address': address.hostname,
      'snug.request.id': request.id,
      ...(route !== undefined && { 'http.route': route }),
    }
    const { traceparent } = headers
    const parent = typeof traceparent === 'string' ? traceparent : undefined
    return spans.begin({ name: route === undefined ? method : `${method} ${route}`, kind: SpanKind.SERVER, attributes, parent })
  }
  wrapRequests(app, (request, work) => {
    let root = roots.get(request)
    if (!root) roots.set(request, (root = begin(request)))
    spans.within(root, work)
  })
  return ({ request, status }) => {
    const root = roots.get(request)
    if (root) spans.end(root, { 'http.response.status_code': status }, status >= 500 ? String(status) : undefined)
  }
}
