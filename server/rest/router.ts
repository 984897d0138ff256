import type { FastifyInstance, FastifyReply, FastifyRequest, onSendAsyncHookHandler, RouteHandlerMethod } from 'fastify'
import type { GraphQLSchema } from 'graphql'
import { type Context, createContext } from '../access/context.ts'
import { ApiError } from '../errors.ts'
import { acceptBasic } from '../http/basic.ts'
import { acceptBytes } from '../http/bodies/bodies.ts'
import { compressText } from '../http/caching/compression.ts'
import { prefers } from '../http/caching/conditional.ts'
import { pubType } from '../http/failures.ts'
import { requireBrowse, requireOwnAccount, requireScope } from '../access/guards.ts'
import { nobody, refuseUselessCredential } from '../access/refusal.ts'
import type { Services } from '../services.ts'
import { requireSetup } from '../access/setup-gate.ts'
import { refuseOtherMethods } from '../http/methods.ts'
import { type CompiledOperation, compileOperations } from './operation.ts'
import { inRestNames } from './names.ts'
import { type Answer, type BinaryRoute, type Data, ok, type Route } from './route.ts'
import { pageNumber, pageSize } from './variables.ts'

const takesBytes = (route: Route | BinaryRoute) => route.kind === 'binary' && route.consumes !== undefined

const acceptOf = (route: Route | BinaryRoute) => (route.kind === 'binary' && route.accept) || acceptBytes

/** Refuses by the names that REST has. */
const inNamesOf =
  ({ names }: Route) =>
  (error: Error): never => {
    throw inRestNames(error, names)
  }

/** What GraphQL answers is text; a route for bytes says itself what is. */
function onSendOf(route: Route | BinaryRoute): { onSend?: onSendAsyncHookHandler } {
  if (route.kind === 'operation') return { onSend: compressText }
  return route.onSend ? { onSend: route.onSend } : {}
}

/**
 * Puts the table's endpoints on the server. A path answers the methods it does not have with 405.
 * @throws Error when a route does not fit the schema.
 */
export function mountRoutes(
  app: FastifyInstance,
  services: Services,
  schema: GraphQLSchema,
  table: readonly (Route | BinaryRoute)[],
): void {
  const operationOf = compileOperations(
    schema,
    table.filter((route) => route.kind === 'operation'),
  )
  const mount = (scope: FastifyInstance, route: Route | BinaryRoute) =>
    scope.route({
      method: route.method,
      url: route.path,
      config: { pub: route.pub ?? false },
      ...onSendOf(route),
      handler: route.kind === 'binary' ? binaryHandler(services, route) : operationHandler(services, operationOf(route), route),
    })
  for (const route of table) if (!takesBytes(route)) mount(app, route)
  // Scopes of their own: everywhere else such bodies are refused, and no request pays for the form readers.
  for (const [accept, group] of Map.groupBy(table.filter(takesBytes), acceptOf)) {
    void app.register(async (scope) => {
      await accept(scope)
      for (const route of group) mount(scope, route)
    })
  }
  for (const [path, routes] of Map.groupBy(table, ({ path: address }) => address)) {
    refuseOtherMethods(
      app,
      path,
      routes.map(({ method }) => method),
    )
  }
}

function operationHandler(services: Services, operation: CompiledOperation, route: Route): RouteHandlerMethod {
  const type = route.pub ? pubType : 'application/json; charset=utf-8'
  return async function handle(request: FastifyRequest, reply: FastifyReply) {
    const unfinished = route.beforeSetup ? undefined : requireSetup(services)
    if (unfinished) await unfinished // an await of nothing would still cost the hottest routes a turn
    const context = await createContext(services, request, reply)
    if (!route.anyCredential) refuseUselessCredential(context)
    if (request.method === 'HEAD' && route.changesWith) {
      requireScope(context, route.changesWith)
      return reply.type(type).send()
    }
    if (route.alternatives) {
      reply.header('vary', 'accept')
      const preferred = route.alternatives.find(({ type }) => prefers(request, type))
      if (preferred) return preferred.handler(context, () => operation.variables(request)).catch(inNamesOf(route))
    }
    return hidingMissing(route, context, async () => {
      const data = await operation.run(context)
      return reply
        .code(route.status ?? 200)
        .type(type)
        .send(JSON.stringify(answerOf(route.answer, data, context)))
    })
  }
}

function binaryHandler(services: Services, route: BinaryRoute): RouteHandlerMethod {
  return async function handle(request: FastifyRequest, reply: FastifyReply) {
    const unfinished = route.beforeSetup ? undefined : requireSetup(services)
    if (unfinished) await unfinished // an await of nothing would still cost the hottest routes a turn
    if (route.basic) acceptBasic(request, reply)
    const context = await createContext(services, request, reply)
    return route.failurePage && prefers(request, 'text/html') ? withPage(route.failurePage, route, context) : answerBinary(route, context)
  }
}

/** Checks what a route asks of its caller, and lets it answer. */
function answerBinary(route: BinaryRoute, context: Context): Promise<unknown> {
  if (!route.anyCredential) refuseUselessCredential(context)
  const answer = () => hidingMissing(route, context, () => route.handler(context))
  if (route.access === 'ownAccount') requireOwnAccount(context)
  else if (route.access === 'browse') return requireBrowse(context)?.then(answer) ?? answer()
  else if (route.access !== 'open') requireScope(context, route.access)
  return answer()
}

/** The same for a person: why they are refused is said on a page. */
async function withPage(failurePage: NonNullable<BinaryRoute['failurePage']>, route: BinaryRoute, context: Context): Promise<unknown> {
  try {
    return await answerBinary(route, context)
  } catch (error) {
    if (error instanceof ApiError) return failurePage(context, error)
    throw error
  }
}

/** To whoever did not sign in, a package that is not there answers like one that is not for them: by asking who they are. */
function hidingMissing(route: { path: string }, context: Context, work: () => Promise<unknown>): Promise<unknown> {
  if (context.viewer || !/:(pkg|file)\b/.test(route.path)) return work()
  return work().catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'NotFound' ? nobody(context) : error
  })
}

function answerOf(answer: Answer | undefined, data: Data, context: Context): unknown {
  if (answer === undefined) return data
  if (answer === ok) return { status: 'ok' }
  if (typeof answer === 'string') return answer.split('.').reduce<unknown>((value, key) => (value as Data | null)?.[key], data)
  if ('from' in answer) return answer.from(data, context)
  const holder = answer.in ? answer.in(data, context) : data
  return pageOf(holder[answer.page] as Connection, answer, pageNumber((context.request.query as Data).page))
}

type Connection = { nodes?: unknown[]; edges?: unknown[]; totalCount: number }

function pageOf({ nodes, edges, totalCount }: Connection, { of, each }: { of: string; each?: (node: unknown) => unknown }, page: number) {
  const entries = nodes ?? edges ?? []
  return { [of]: each ? entries.map(each) : entries, page, pageSize, totalCount, totalPages: Math.ceil(totalCount / pageSize) }
}
