import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { type DocumentNode, execute, type ExecutionArgs, type FieldNode, type GraphQLSchema, Kind, visit } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { Readable } from 'node:stream'
import { withinBudget } from '../access/budget.ts'
import { queryOf, type TrustedDocuments } from './trusted-documents.ts'
import { type Context, guardChange, plainContext } from '../access/context.ts'
import { bodyTooLarge, invalidInput, notAcceptable } from '../../errors.ts'
import { rejectExpensive, executeInTurn } from './cost.ts'
import { acceptFormerDocuments } from './former-schema.ts'
import { formatErrors, masked } from './errors.ts'
import { limitQueries, rejectDeepQuery, reportInvalidLiterals, cacheDocuments } from './validation.ts'
import { admitRequests, eventStream, parametersOf, validateParameters, acceptsEvents, wantsExplorer } from './request.ts'
import { subscribe } from './subscriptions.ts'
import { requireNarrowedOperation } from '../access/narrowed.ts'
import { compressText } from '../http/caching/compression.ts'
import { noStore } from '../http/caching/conditional.ts'
import { noteOperation } from '../http/request-log.ts'
import { graphqlEnvelope, sendFailure } from '../http/failures.ts'
import { basePath } from '../http/public-url.ts'
import { needsCsrfToken } from './caller-check.ts'
import { yieldToEventLoop } from '../threads/slices.ts'
import { rejectOtherMethods } from '../http/methods.ts'
import { isServerAdmin } from '../access/roles.ts'
import type { Services } from '../../services.ts'
import { mayBrowseAnonymously } from '../access/audience.ts'

/** Limits of the query text. The cost has a separate limit (see cost.ts). */
const limits = { depth: 12, aliases: 30, bytes: 64 * 1024 }

/** A request as passed to Yoga. `sent` holds the parameters from the body; undefined for GET, which has them in the query string. */
type Call = { caller: Context; sent: GraphQLParams | undefined }

/** Serves `/graphql`: operations by POST, queries also by GET, and the explorer, a console page, to browsers. */
export async function mountGraphql(
  app: FastifyInstance,
  services: Services,
  { schema, documents, sendExplorer }: { schema: GraphQLSchema; documents: TrustedDocuments; sendExplorer: RouteHandlerMethod },
): Promise<void> {
  const { fetch } = await openYoga(services, schema, documents)
  await app.register(async (scope) => {
    const { preParsing, readBody, admissionOf } = admitRequests(services)
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', readBody)
    scope.setErrorHandler((error, request, reply) => sendFailure(services.log, error, request, reply, graphqlEnvelope))
    async function handler(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      if (wantsExplorer(request)) return sendExplorer.call(this, request, reply)
      const { caller, init } = await admissionOf(request, reply)
      const startedAt = performance.now()
      const response = await withinBudget(caller, async () =>
        fetch(addressOf(request, services), init, { caller, sent: await parametersOf(request) }),
      )
      if (isServerAdmin(caller)) reply.header('server-timing', serverTiming(caller, performance.now() - startedAt))
      return send(response, reply)
    }
    // Some clients append a slash to every URL.
    for (const url of ['/graphql', '/graphql/']) {
      rejectOtherMethods(scope, url, ['GET', 'POST'])
      scope.route({ method: ['GET', 'POST'], url, onSend: compressText, preParsing, handler })
    }
  })
}

const endpoint = ({ config }: Pick<Services, 'config'>): string => `${basePath(config.SERVER_URL)}/graphql`

/** Returns the URL of the endpoint with the query string of the request. Yoga accepts only its configured path. */
function addressOf({ url }: FastifyRequest, services: Services): URL {
  const parameters = url.indexOf('?')
  return new URL(endpoint(services) + (parameters < 0 ? '' : url.slice(parameters)), services.config.SERVER_URL)
}

/** Returns the value of `Server-Timing`, for administrators only: the number of statements could reveal private packages. */
function serverTiming({ budget }: Context, totalMs: number): string {
  const { ms, statements } = budget?.databaseUse ?? { ms: 0, statements: 0 }
  return `db;dur=${ms.toFixed(1)};desc="statements: ${statements}", total;dur=${totalMs.toFixed(1)}`
}

async function send(response: Response, reply: FastifyReply): Promise<FastifyReply> {
  reply.code(response.status)
  if (response.body && response.headers.get('content-type')?.startsWith(eventStream)) {
    // Keeps proxies from buffering events (nginx reads `X-Accel-Buffering`). Events are not compressed.
    reply.header('content-type', eventStream).header('cache-control', noStore).header('x-accel-buffering', 'no')
    return reply.send(Readable.from(piecesOf(response.body)))
  }
  for (const [name, value] of response.headers) reply.header(name, value)
  return reply.send(Buffer.from(await response.arrayBuffer()))
}

/** Yields the chunks of a body. Wrapped in a generator because Yoga's body throws if it is cancelled before reading started. */
async function* piecesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* body
}

async function openYoga(services: Services, schema: GraphQLSchema, documents: TrustedDocuments) {
  const [{ YogaServer }, { createServerAdapter }, { EnvelopArmor }] = await Promise.all([
    import('graphql-yoga'),
    import('@whatwg-node/server'),
    import('@escape.tech/graphql-armor'),
  ])
  const armor = new EnvelopArmor({
    maxDepth: { n: limits.depth, flattenFragments: true },
    costLimit: { enabled: false }, // ignores variables
    maxAliases: { n: limits.aliases },
    maxTokens: { n: 4000 },
    maxDirectives: { n: 30 },
    blockFieldSuggestion: { enabled: false },
  })
  const yoga = new YogaServer<Call, object>({
    schema,
    graphqlEndpoint: endpoint(services),
    batching: false,
    cors: false,
    landingPage: false,
    logging: false,
    graphiql: false,
    // Yoga's cache would keep 1,000 documents of any size. See cacheDocuments.
    parserAndValidationCache: false,
    maskedErrors: { maskError: (error) => masked(services, error) },
    context: ({ caller }) => plainContext(services, caller),
    plugins: [
      useParsedParameters,
      ...documentPlugins(services, schema, documents),
      logOperation,
      reportInvalidLiterals,
      limitQueries,
      ...(armor.protect().plugins as Plugin[]),
      guardExecution,
      ...traced(services),
      formatErrors,
    ],
  })
  // Same as createYoga, except for the last option. Without it, the adapter inspects the platform's `Request`, which Yoga does not use, and that
  // loads Node's fetch: 27 ms of startup time and 4 MB.
  return createServerAdapter<Call, typeof yoga>(yoga, { fetchAPI: yoga.fetchAPI, plugins: yoga['plugins'], __useCustomAbortCtrl: true })
}

const documentPlugins = ({ caches }: Services, schema: GraphQLSchema, documents: TrustedDocuments): Plugin[] => [
  cacheDocuments(caches),
  acceptFormerDocuments(schema),
  readQuery(documents) as Plugin,
]

/** Passes the parsed body to Yoga. Yoga's own parser would accept invalid UTF-8 and report errors in another format. */
const useParsedParameters: Plugin<Call & Context, Call> = {
  onRequestParse({ serverContext, setRequestParser }) {
    const { sent } = serverContext
    if (sent) setRequestParser(() => sent)
  },
}

/** Looks up the query that a request contains or refers to. Limits its text; large values belong in variables. */
const readQuery = (documents: TrustedDocuments): Plugin<Call & Context, Call> => ({
  async onParams({ params, setParams, context }) {
    // Parsing and validating a long query gets a time slice of its own.
    await yieldToEventLoop()
    const query = queryOf(documents, params, context.caller)
    if (typeof query !== 'string') throw invalidInput(`query: ${query === undefined ? 'is required' : 'must be a string'}.`, 'query')
    if (Buffer.byteLength(query) > limits.bytes) throw bodyTooLarge(limits.bytes)
    rejectDeepQuery(query)
    validateParameters(params)
    setParams({ ...params, query })
  },
})

/** Adds the operation to the log line of the request, also if the operation is rejected. */
const logOperation: Plugin<Call & Context> = {
  onParse({ context }) {
    return ({ result, context: parsed }) => {
      if (!result || result instanceof Error) return
      const operation = selectedOperation(result as DocumentNode, (parsed as { params?: GraphQLParams }).params?.operationName)
      if (operation) noteOperation(context.caller.request, operation.operation, operation.name?.value)
    }
  },
}

/** Checks operations before execution: CSRF tokens of mutations with a session, as on REST, and the right to read the schema. */
const guardExecution: Plugin<Call & Context> = {
  async onExecute({ args, setExecuteFn }) {
    const { contextValue, cost } = await guard(args)
    // Uses `execute` of graphql-js, as REST does, so that both APIs report the same errors.
    setExecuteFn((work: ExecutionArgs) => executeInTurn(contextValue, cost, () => execute(work)))
    return {
      onExecuteDone({ result, setResult }) {
        if (!(Symbol.asyncIterator in result)) setResult({ ...result, extensions: { ...result.extensions, cost } })
      },
    }
  },
  async onSubscribe({ args, setSubscribeFn }) {
    const { contextValue } = await guard(args)
    if (!acceptsEvents(contextValue.request)) throw notAcceptable(eventStream)
    setSubscribeFn(subscribe)
  },
}

function traced({ tracing }: Services): Plugin<Call & Context>[] {
  if (!tracing) return []
  return [
    {
      onExecute({ args, executeFn, setExecuteFn }) {
        const { document, operationName } = args as Operation
        const operation = selectedOperation(document, operationName)
        if (!operation) return
        const run = executeFn as (work: ExecutionArgs) => Promise<unknown>
        setExecuteFn((work: ExecutionArgs) =>
          tracing.operation({ type: operation.operation, name: operation.name?.value }, () => run(work)),
        )
      },
    },
  ]
}

type Operation = {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  variableValues?: Record<string, unknown>
  contextValue: Context
}

/** Throws if the caller may not execute the operation. Returns its cost. */
async function guard(args: object): Promise<{ contextValue: Context; cost: number }> {
  const { schema, document, operationName, variableValues, contextValue } = args as Operation
  const chosen = selectedOperation(document, operationName)
  const cost = chosen ? rejectExpensive(schema, document, chosen, variableValues ?? {}) : 0
  if (contextValue.query) contextValue.query.cost = cost
  const narrowing = contextValue.credential?.narrowing
  if (chosen && narrowing) requireNarrowedOperation(narrowing, schema, document, chosen, variableValues ?? {})
  if (chosen && needsCsrfToken(schema, document, chosen)) guardChange(contextValue)
  if (!contextValue.viewer && !(await mayBrowseAnonymously(contextValue))) visit(document, { Field: rejectIntrospection })
  return { contextValue, cost }
}

const selectedOperation = ({ definitions }: DocumentNode, name?: string | null) =>
  definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION).find((node) => !name || node.name?.value === name)

function rejectIntrospection({ name }: FieldNode): void {
  if (name.value === '__schema' || name.value === '__type')
    throw invalidInput('Sign in to read the schema, or take schema.graphql from the source.')
}
