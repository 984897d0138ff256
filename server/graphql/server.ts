import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type DocumentNode, execute, type ExecutionArgs, type FieldNode, type GraphQLSchema, Kind, visit } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { Readable } from 'node:stream'
import { withinBudget } from '../access/budget.ts'
import { queryOf, readDocuments, type TrustedDocuments } from '../console/documents.ts'
import { consoleSender } from '../console/serve.ts'
import { type Context, createContext, guardChange, plainContext } from '../access/context.ts'
import { bodyTooLarge, invalidInput, notAcceptable } from '../errors.ts'
import { refuseExpensive } from './cost.ts'
import { answerErrors, masked } from './errors.ts'
import { limitQueries, refuseDeepQuery } from './query-limits.ts'
import { nameLiterals, rememberDocuments } from './validation.ts'
import { eventStream, parametersOf, refuseMisfits, takesEvents, toFetch, wantsExplorer } from './request.ts'
import { subscribe } from './subscriptions.ts'
import { executeInTurn } from './turns.ts'
import { compressText } from '../http/caching/compression.ts'
import { notStored } from '../http/caching/conditional.ts'
import { noteOperation } from '../http/remark.ts'
import { graphqlEnvelope, sendFailure } from '../http/failures.ts'
import { refuseEncoded } from '../http/bodies/json-body.ts'
import { addressKey } from '../http/limits/limits.ts'
import { basePath } from '../http/public-url.ts'
import { needsCsrfToken } from './own-origin.ts'
import { nextSlice } from '../threads/slices.ts'
import { refuseUselessCredential } from '../access/refusal.ts'
import { refuseOtherMethods } from '../http/methods.ts'
import { isServerAdmin } from '../roles/viewer.ts'
import type { Services } from '../services.ts'
import { mayBrowseAnonymously } from '../access/audience.ts'

/** How much a query may be; what it may cost is beside. */
const limits = { depth: 12, aliases: 30, bytes: 64 * 1024 }

/** `sent`: what came in the body; undefined for a GET, which has it in its address. */
type Door = { caller: Context; sent: GraphQLParams | undefined }

/** Serves `/graphql`: queries by POST, or by GET when they change nothing; to browsers the explorer, a page of the console. */
export async function mountGraphql(app: FastifyInstance, services: Services, schema: GraphQLSchema): Promise<void> {
  const { fetch } = await openYoga(services, schema)
  const sendConsole = consoleSender(services)
  await app.register(async (scope) => {
    // The bytes are read only when it is known who sends them, and once they count toward the limit.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
      refuseEncoded(request)
      return bytes
    })
    scope.setErrorHandler((error, request, reply) => sendFailure(services.log, error, request, reply, graphqlEnvelope))
    async function handler(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      if (wantsExplorer(request)) return sendConsole.call(this, request, reply)
      const caller = await createContext(services, request, reply)
      caller.query = { cost: 0, bucket: await services.limits.use('graphql', caller.viewer?.id ?? addressKey(caller.ip)) }
      refuseUselessCredential(caller)
      const startedAt = performance.now()
      const response = await withinBudget(caller, async () => {
        const init = toFetch(request)
        return fetch(addressOf(request, services), init, { caller, sent: await parametersOf(request, caller) })
      })
      if (isServerAdmin(caller)) reply.header('server-timing', timingOf(caller, performance.now() - startedAt))
      return send(response, reply)
    }
    // Some clients put a slash behind every address that they are given.
    for (const url of ['/graphql', '/graphql/']) {
      refuseOtherMethods(scope, url, ['GET', 'POST'])
      scope.route({ method: ['GET', 'POST'], url, onSend: compressText, handler })
    }
  })
}

const endpoint = ({ config }: Pick<Services, 'config'>): string => `${basePath(config.SERVER_URL)}/graphql`

/** The one address that Yoga knows, with the parameters of the request. */
function addressOf({ url }: FastifyRequest, services: Services): URL {
  const parameters = url.indexOf('?')
  return new URL(endpoint(services) + (parameters < 0 ? '' : url.slice(parameters)), services.config.SERVER_URL)
}

/** What took how long, in milliseconds. To others than administrators, the number of statements could tell of packages that they may not see. */
function timingOf({ budget }: Context, totalMs: number): string {
  const { ms, statements } = budget?.databaseUse ?? { ms: 0, statements: 0 }
  return `db;dur=${ms.toFixed(1)};desc="statements: ${statements}", total;dur=${totalMs.toFixed(1)}`
}

async function send(response: Response, reply: FastifyReply): Promise<FastifyReply> {
  reply.code(response.status)
  if (response.body && response.headers.get('content-type')?.startsWith(eventStream)) {
    // No proxy may hold events back (nginx reads the second header), and none of them are compressed.
    reply.header('content-type', eventStream).header('cache-control', notStored).header('x-accel-buffering', 'no')
    return reply.send(Readable.from(piecesOf(response.body)))
  }
  for (const [name, value] of response.headers) reply.header(name, value)
  return reply.send(Buffer.from(await response.arrayBuffer()))
}

/** The pieces of a body. One that nobody began to read must not be cancelled: Yoga's throws. */
async function* piecesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* body
}

async function openYoga(services: Services, schema: GraphQLSchema) {
  const [{ YogaServer }, { createServerAdapter }, { EnvelopArmor }] = await Promise.all([
    import('graphql-yoga'),
    import('@whatwg-node/server'),
    import('@escape.tech/graphql-armor'),
  ])
  const armor = new EnvelopArmor({
    maxDepth: { n: limits.depth, flattenFragments: true },
    costLimit: { enabled: false }, // it knows no variables
    maxAliases: { n: limits.aliases },
    maxTokens: { n: 4000 },
    maxDirectives: { n: 30 },
    blockFieldSuggestion: { enabled: false },
  })
  const yoga = new YogaServer<Door, object>({
    schema,
    graphqlEndpoint: endpoint(services),
    batching: false,
    cors: false,
    landingPage: false,
    logging: false,
    graphiql: false,
    // It would keep a thousand documents, whatever they take; see rememberDocuments.
    parserAndValidationCache: false,
    maskedErrors: { maskError: (error) => masked(services, error) },
    context: ({ caller }) => plainContext(services, caller),
    plugins: [
      takeParameters,
      rememberDocuments(services.caches),
      readQuery(readDocuments()),
      logOperation,
      nameLiterals,
      limitQueries,
      ...(armor.protect().plugins as Plugin[]),
      guardExecution,
      ...traced(services),
      answerErrors,
    ],
  })
  // What createYoga does, but for the last option: left out, it is found by looking at the Request of the platform, which Yoga does not use, and
  // so its fetch is loaded: 27 ms of each start, and 4 MB.
  return createServerAdapter<Door, typeof yoga>(yoga, { fetchAPI: yoga.fetchAPI, plugins: yoga['plugins'], __useCustomAbortCtrl: true })
}

/** Gives Yoga what was read of the body here: it would take what is no UTF-8, and word its refusals in its own way. */
const takeParameters: Plugin<Door & Context, Door> = {
  onRequestParse({ serverContext, setRequestParser }) {
    const { sent } = serverContext
    if (sent) setRequestParser(() => sent)
  },
}

/**
 * Finds the text that a request sends or names. It is bounded by itself: what it carries in variables, such as a text of 256 KiB, is not part
 * of it.
 */
const readQuery = (documents: TrustedDocuments): Plugin<Door & Context, Door> => ({
  async onParams({ params, setParams, context }) {
    // To read and to check a long query takes a slice of its own.
    await nextSlice()
    const query = queryOf(documents, params, context.caller)
    if (typeof query !== 'string') throw invalidInput(`query: ${query === undefined ? 'is required' : 'must be a string'}.`, 'query')
    if (Buffer.byteLength(query) > limits.bytes) throw bodyTooLarge(limits.bytes)
    refuseDeepQuery(query)
    refuseMisfits(params)
    setParams({ ...params, query })
  },
})

/** Has the line of the request name the operation, also of one that is refused. */
const logOperation: Plugin<Door & Context> = {
  onParse({ context }) {
    return ({ result, context: parsed }) => {
      if (!result || result instanceof Error) return
      const operation = chosenOf(result as DocumentNode, (parsed as { params?: GraphQLParams }).params?.operationName)
      if (operation) noteOperation(context.caller.request, operation.operation, operation.name?.value)
    }
  },
}

/** What changes something and rides on a cookie needs the CSRF token, here as on REST; and only whoever may read packages browses the schema. */
const guardExecution: Plugin<Door & Context> = {
  async onExecute({ args, setExecuteFn }) {
    const { contextValue, cost } = await guard(args)
    // The one of graphql-js, as on REST, so that both doors word their errors alike.
    setExecuteFn((work: ExecutionArgs) => executeInTurn(contextValue, cost, () => execute(work)))
    return {
      onExecuteDone({ result, setResult }) {
        if (!(Symbol.asyncIterator in result)) setResult({ ...result, extensions: { ...result.extensions, cost } })
      },
    }
  },
  async onSubscribe({ args, setSubscribeFn }) {
    const { contextValue } = await guard(args)
    if (!takesEvents(contextValue.request)) throw notAcceptable(eventStream)
    setSubscribeFn(subscribe)
  },
}

/** Traces operations, if a setting asks for that: their type and name, nothing else. */
function traced({ tracing }: Services): Plugin<Door & Context>[] {
  if (!tracing) return []
  return [
    {
      onExecute({ args, executeFn, setExecuteFn }) {
        const { document, operationName } = args as Operation
        const operation = chosenOf(document, operationName)
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

/** Refuses an operation that may not be executed; gives what it costs. */
async function guard(args: object): Promise<{ contextValue: Context; cost: number }> {
  const { schema, document, operationName, variableValues, contextValue } = args as Operation
  const chosen = chosenOf(document, operationName)
  const cost = chosen ? refuseExpensive(schema, document, chosen, variableValues ?? {}) : 0
  if (contextValue.query) contextValue.query.cost = cost
  if (chosen && needsCsrfToken(schema, document, chosen)) guardChange(contextValue)
  if (!contextValue.viewer && !(await mayBrowseAnonymously(contextValue))) visit(document, { Field: refuseIntrospection })
  return { contextValue, cost }
}

/** The operation of a document that is to be executed. */
const chosenOf = ({ definitions }: DocumentNode, name?: string | null) =>
  definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION).find((node) => !name || node.name?.value === name)

function refuseIntrospection({ name }: FieldNode): void {
  if (name.value === '__schema' || name.value === '__type')
    throw invalidInput('Sign in to read the schema, or take schema.graphql from the source.')
}
