import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
  preParsingAsyncHookHandler,
  RouteHandlerMethod,
} from 'fastify'
import type { GraphQLSchema } from 'graphql'
import { type Context, createContext, renewContext } from '../access/context.ts'
import { ApiError, invalidInput } from '../../errors.ts'
import { acceptBasic } from '../access/token-secret.ts'
import { acceptBytes } from '../http/bodies.ts'
import { compressText } from '../http/caching/compression.ts'
import { prefers } from '../http/caching/conditional.ts'
import { openBodyLimit, pubType } from '../http/failures.ts'
import { requireBrowse, requireOwnAccount, requireScope, unauthenticated, rejectUselessCredential } from '../access/guards.ts'
import type { Services } from '../../services.ts'
import { requireSetup } from '../access/setup-gate.ts'
import { rejectOtherMethods } from '../http/methods.ts'
import { publicUrl } from '../http/public-url.ts'
import { type CompiledOperation, compileOperations, valueAt } from './operation.ts'
import { type Alternative, type BinaryRoute, type Data, ok, type Route } from './route.ts'
import { pageNumber, pageSize } from './variables.ts'

const takesBytes = (route: Route | BinaryRoute) => route.kind === 'binary' && route.consumes !== undefined

const acceptOf = (route: Route | BinaryRoute) => (route.kind === 'binary' && route.accept) || acceptBytes

/** Rethrows an error; an InvalidInput error names the field as REST does. */
const throwInRestNames =
  ({ names = {} }: Route) =>
  (error: unknown): never => {
    if (!(error instanceof ApiError) || error.code !== 'InvalidInput') throw error
    // A member of an input object, such as `actedBy.email`, is one parameter of REST.
    const [field] = String(error.extensions.field).split('.')
    const theirs = Object.keys(names).find((name) => names[name] === field)
    throw theirs === undefined ? error : invalidInput(error.message.replace(/^\w+(?:\.[a-z]\w*)*(?=[:.])/i, theirs), theirs)
  }

/** Compresses responses of operations. Binary routes define their own hook. */
function onSendOf(route: Route | BinaryRoute): { onSend?: onSendAsyncHookHandler } {
  if (route.kind === 'operation') return { onSend: compressText }
  return route.onSend ? { onSend: route.onSend } : {}
}

function configOf(route: Route | BinaryRoute): FastifyContextConfig {
  const { xmlErrors = false, isArchive = false }: Partial<BinaryRoute> = route.kind === 'binary' ? route : {}
  return { pub: route.pub ?? false, xmlErrors, isArchive }
}

/** Registers all routes. Unsupported methods of a path get 405. Throws an Error if an operation does not match the schema. */
export function mountRoutes(
  app: FastifyInstance,
  services: Services,
  schema: GraphQLSchema,
  table: readonly (Route | BinaryRoute)[],
): void {
  const operationOf = compileOperations(
    schema,
    table.flatMap((route) => (route.kind === 'operation' ? route : (route.operation ?? []))),
  )
  const mount = (scope: FastifyInstance, route: Route | BinaryRoute) =>
    scope.route({
      method: route.method,
      url: route.path,
      config: configOf(route),
      ...onSendOf(route),
      ...(route.kind === 'binary'
        ? binaryRoute(services, route, route.operation && operationOf(route.operation))
        : operationRoute(services, operationOf(route), route)),
    })
  for (const route of table) if (!takesBytes(route)) mount(app, route)
  // Separate scopes, so that all other routes reject such bodies without the overhead of the form parsers.
  for (const [accept, group] of Map.groupBy(table.filter(takesBytes), acceptOf)) {
    void app.register(async (scope) => {
      await accept(scope)
      for (const route of group) mount(scope, route)
    })
  }
  for (const [path, routes] of Map.groupBy(table, ({ path: address }) => address)) {
    rejectOtherMethods(
      app,
      path,
      routes.map(({ method }) => method),
    )
  }
}

/** Checks that setup is complete, unless the route works without it, and authenticates the request. */
async function contextOf(services: Services, route: Route | BinaryRoute, request: FastifyRequest, reply: FastifyReply): Promise<Context> {
  const unfinished = route.beforeSetup ? undefined : requireSetup(services)
  if (unfinished) await unfinished // no needless await: it would cost the most frequent routes a turn of the event loop
  if (route.kind === 'binary' && route.basic) acceptBasic(request, reply)
  return createContext(services, request, reply, route.identifyByKey)
}

type ServedRoute = { handler: RouteHandlerMethod; preParsing?: preParsingAsyncHookHandler; bodyLimit?: number }

/** Returns the handlers of an operation route. Requests are authorized before their body is read. */
function operationRoute(services: Services, operation: CompiledOperation, route: Route): ServedRoute {
  const type = route.pub ? pubType : 'application/json; charset=utf-8'
  const admitted = new WeakMap<FastifyRequest, Context>()
  async function identify(request: FastifyRequest, reply: FastifyReply): Promise<Context> {
    const context = await contextOf(services, route, request, reply)
    if (!route.anyCredential) rejectUselessCredential(context)
    return context
  }
  async function preParsing(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const context = await identify(request, reply)
    await operation.admit(context)
    admitted.set(request, context)
  }
  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const early = admitted.get(request)
    // Permissions may have been revoked while a slow body arrived.
    const current = early && request.body !== undefined ? await renewContext(services, early) : early
    const context = current ?? (await identify(request, reply))
    if (request.method === 'HEAD' && route.changesWith) {
      requireScope(context, route.changesWith)
      return reply.type(type).send()
    }
    const alternative = route.alternatives && preferredOf(route.alternatives, context)
    if (alternative) return alternative.handler(context, () => operation.variables(request)).catch(throwInRestNames(route))
    if (!early) await operation.admit(context)
    return hideMissingPackage(route, context, async () => {
      const data = await operation.run(context).catch(throwInRestNames(route))
      reply.code(route.status ?? 200).type(type)
      return reply.send(JSON.stringify(answerOf(route, data, context))) // `answerOf` may set another status
    })
  }
  if (route.method === 'GET') return { handler }
  return { handler, preParsing, ...(operation.isOpen && { bodyLimit: openBodyLimit }) }
}

function preferredOf(alternatives: Alternative[], { request, reply }: Context): Alternative | undefined {
  reply.header('vary', 'accept')
  return alternatives.find(({ type }) => prefers(request, type))
}

function binaryRoute(services: Services, route: BinaryRoute, operation?: CompiledOperation): ServedRoute {
  const { admit, failurePage } = route
  const answer = (context: Context) => answerBinary(route, operation, context)
  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const context = await contextOf(services, route, request, reply)
    return failurePage && prefers(request, 'text/html') ? answerWithErrorPage(failurePage, answer, context) : answer(context)
  }
  async function preParsing(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await admit?.(await contextOf(services, route, request, reply))
  }
  return admit ? { handler, preParsing } : { handler }
}

function answerBinary(route: BinaryRoute, operation: CompiledOperation | undefined, context: Context): Promise<unknown> {
  if (!route.anyCredential) rejectUselessCredential(context)
  const run = async () => (operation ? operation.run(context) : {})
  const answer = () => hideMissingPackage(route, context, () => route.handler(context, run))
  if (route.access === 'ownAccount') requireOwnAccount(context)
  else if (route.access === 'browse') return requireBrowse(context)?.then(answer) ?? answer()
  else if (route.access !== 'open') requireScope(context, route.access)
  return answer()
}

async function answerWithErrorPage(
  failurePage: NonNullable<BinaryRoute['failurePage']>,
  answer: (context: Context) => Promise<unknown>,
  context: Context,
): Promise<unknown> {
  try {
    return await answer(context)
  } catch (error) {
    if (error instanceof ApiError) return failurePage(context, error)
    throw error
  }
}

/** Hides from anonymous callers whether a package exists: a missing package gets the same 401 as a private one. */
function hideMissingPackage(route: { path: string }, context: Context, work: () => Promise<unknown>): Promise<unknown> {
  if (context.viewer || !/:(pkg|file)\b/.test(route.path)) return work()
  return work().catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'NotFound' ? unauthenticated(context) : error
  })
}

function answerOf({ answer, path }: Route, data: Data, context: Context): unknown {
  if (answer === undefined) return data
  if (answer === ok) return { status: 'ok' }
  if (typeof answer === 'string') return valueAt(data, answer)
  if ('from' in answer) return answer.from(data, context)
  const { totalCount, nodes, edges } = valueAt(data, answer.page) as { nodes?: Data[]; edges?: Data[]; totalCount: number }
  const { each, of, next } = answer
  const [entries, page, totalPages] = [
    nodes ?? edges ?? [],
    pageNumber((context.request.query as Data).page),
    Math.ceil(totalCount / pageSize),
  ]
  return {
    [of]: each ? entries.map((node) => each(node, context)) : entries,
    page,
    pageSize,
    totalCount,
    totalPages,
    ...(next && page < totalPages && { [next.field]: pageUrl(path, page + 1, context) }),
    ...(next?.isNullable && page >= totalPages && { [next.field]: null }),
  }
}

function pageUrl(path: string, page: number, { request, config }: Context): string {
  const parameters = Object.entries({ ...(request.query as Record<string, string | string[]>), page: String(page) })
  const query = new URLSearchParams(parameters.flatMap(([name, values]) => [values].flat().map((value) => [name, value])))
  return `${publicUrl(request, config.SERVER_URL)}${path}?${query}`
}
