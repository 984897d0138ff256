import { EnvelopArmor } from '@escape.tech/graphql-armor'
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type DocumentNode, type FieldNode, GraphQLError, type GraphQLSchema, Kind, visit } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { type Context, createContext, guardChange } from './context.ts'
import { ApiError, internalError, invalidInput, statusOf, unsupportedMediaType } from './errors.ts'
import { randomText } from './http/keys.ts'
import { addressKey } from './http/limits.ts'
import { toApiError } from './rest/failures.ts'
import type { Services } from './services.ts'

/** How much a query may be (decisions §7). */
const limits = { depth: 12, cost: 5000, aliases: 30, bytes: 64 * 1024 }

type Door = { request: FastifyRequest; reply: FastifyReply; caller: Context }

/** Serves `/graphql`: queries by POST, or by GET when they change nothing; GraphiQL for browsers, all of it from here. */
export async function mountGraphql(app: FastifyInstance, services: Services, schema: GraphQLSchema): Promise<void> {
  const path = `${new URL(services.config.SERVER_URL).pathname.replace(/\/$/, '')}/graphql`
  const armor = new EnvelopArmor({
    maxDepth: { n: limits.depth, flattenFragments: true },
    costLimit: { maxCost: limits.cost, objectCost: 1, scalarCost: 1, depthCostFactor: 1.1, flattenFragments: true },
    maxAliases: { n: limits.aliases },
    maxTokens: { n: 4000 },
    maxDirectives: { n: 30 },
    blockFieldSuggestion: { enabled: false },
  })
  const yoga = createYoga<Door>({
    schema,
    graphqlEndpoint: path,
    batching: false,
    cors: false,
    landingPage: false,
    logging: false,
    graphiql: { title: 'Snug GraphQL', defaultQuery: welcome },
    renderGraphiQL,
    maskedErrors: { maskError: (error) => masked(services, error) },
    context: ({ caller }) => caller,
    plugins: [...(armor.protect().plugins as Plugin[]), guardExecution, answerErrors],
  })
  await app.register(async (scope) => {
    // Yoga reads the body itself; the server only refuses what is not JSON.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { bodyLimit: limits.bytes }, (_request, payload, done) => done(null, payload))
    scope.route({
      method: ['GET', 'POST'],
      url: '/graphql',
      handler: async (request, reply) => {
        const caller = await createContext(services, request, reply)
        if (request.method === 'POST' && Number(request.headers['content-length'] ?? 0) > limits.bytes)
          throw new ApiError('InvalidInput', `A query may be at most ${limits.bytes} bytes.`, { status: 413 })
        if (request.method === 'POST' && !request.headers['content-type']?.startsWith('application/json'))
          throw unsupportedMediaType('application/json')
        await services.limits.use('graphql', caller.credential?.id ?? addressKey(caller.ip))
        const response = await yoga.handleNodeRequestAndResponse(request.raw, reply.raw, { request, reply, caller })
        for (const [name, value] of response.headers) reply.header(name, value)
        if (response.headers.get('content-type')?.startsWith('text/html')) reply.header('content-security-policy', graphiqlPolicy)
        return reply.code(response.status).send(response.body ? Buffer.from(await response.arrayBuffer()) : '')
      },
    })
  })
}

// GraphiQL's own page carries one inline script and styles; it may talk to this server and to nobody else.
const graphiqlPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const welcome = `# Send a token in the Headers pane: { "Authorization": "Bearer svc_pat_…" },
# or sign in to the console first.
{
  viewer { displayName role }
  server { version url }
}
`

/** A mutation that rides on a cookie needs the CSRF token, here as on REST; and nobody browses the schema without signing in. */
const guardExecution: Plugin<Door & Context> = {
  onExecute({ args }) {
    const { document, operationName, contextValue } = args as {
      document: DocumentNode
      operationName?: string | null
      contextValue: Context
    }
    const chosen = document.definitions.find(
      (node) => node.kind === Kind.OPERATION_DEFINITION && (!operationName || node.name?.value === operationName),
    )
    if (chosen?.kind === Kind.OPERATION_DEFINITION && chosen.operation === 'mutation') guardChange(contextValue)
    if (!contextValue.viewer) visit(document, { Field: refuseIntrospection })
  },
}

function refuseIntrospection({ name }: FieldNode): void {
  if (name.value === '__schema' || name.value === '__type')
    throw invalidInput('Sign in to read the schema, or take schema.graphql from the source.')
}

/** Errors of graphql-js itself (a wrong variable, a wrong document) get the service's codes too. */
const answerErrors: Plugin<Door & Context> = {
  onResultProcess({ result, setResult }) {
    if (!('errors' in result) || !result.errors) return
    setResult({ ...result, errors: (result.errors as GraphQLError[]).map(coded) })
  },
}

function coded(error: GraphQLError): GraphQLError {
  if (typeof error.extensions?.code === 'string' && error.extensions.code in statusOf) return error
  const known = toApiError(error)
  if (known instanceof ApiError) return at(known, error)
  const { nodes = null, path = null, message, extensions } = error
  return new GraphQLError(message, { nodes, path, extensions: { ...extensions, code: 'InvalidInput' } })
}

function masked({ log }: Services, error: unknown): Error {
  const cause = error instanceof GraphQLError ? toApiError(error) : error
  if (cause instanceof ApiError) return at(cause, error)
  // Without a cause it is graphql-js complaining about the request, not about us.
  if (error instanceof GraphQLError && !error.originalError) return coded(error)
  const failure = internalError(randomText(6))
  log.error(`${failure.message}: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`)
  return at(failure, error)
}

const at = (failure: ApiError, error: unknown): GraphQLError =>
  error instanceof GraphQLError
    ? new GraphQLError(failure.message, { nodes: error.nodes ?? null, path: error.path ?? null, extensions: failure.extensions })
    : failure
