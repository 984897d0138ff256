import type { FastifyRequest } from 'fastify'
import {
  type DocumentNode,
  execute,
  getVariableValues,
  type GraphQLSchema,
  Kind,
  LoneAnonymousOperationRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  specifiedRules,
  validate,
} from 'graphql'
import { type Context, guardChange } from '../access/context.ts'
import { callerCheck, operationAdmission } from '../graphql/caller-check.ts'
import { needsCsrfToken } from '../graphql/own-origin.ts'
import type { Data, Route } from './route.ts'
import { inRestNames } from './names.ts'
import { toApiError } from '../graphql/operation-errors.ts'
import { variablesReader } from './variables.ts'

export type CompiledOperation = {
  document: DocumentNode
  definition: OperationDefinitionNode
  /** What the request gives for its variables, coerced as for running it; throws an ApiError when something does not fit. */
  variables(request: FastifyRequest): Data
  /** Runs it for this request: who may not run it hears that before anything about what they sent. Throws an ApiError when anything fails. */
  run(context: Context): Promise<Data>
}

const compiled = new WeakMap<GraphQLSchema, Map<Route, CompiledOperation>>()

/**
 * A route's operation, parsed and validated: once, however many servers of one process have it. Its variables are read from the request by
 * variables.ts; the answer is made of its data by router.ts, as the route says (route.ts).
 * @throws Error when it does not fit the schema, so that a wrong table never serves.
 */
export function compileOperation(schema: GraphQLSchema, route: Route): CompiledOperation {
  return compileOperations(schema, [route])(route)
}

/** The same for a whole table, which takes half as long as one by one: to begin to validate costs more than to go on. */
export function compileOperations(schema: GraphQLSchema, table: readonly Route[]): (route: Route) => CompiledOperation {
  const known = compiled.get(schema) ?? new Map<Route, CompiledOperation>()
  compiled.set(schema, known)
  const written = table.filter((route) => !known.has(route)).map(readOperation)
  requireFit(schema, written)
  for (const operation of written) known.set(operation.route, compile(schema, operation))
  return (route) => known.get(route) ?? compileOperation(schema, route)
}

type Written = { route: Route; document: DocumentNode; definition: OperationDefinitionNode }

function readOperation(route: Route): Written {
  const text = route.operation.trimStart().startsWith('{') ? `query ${route.operation}` : route.operation
  const document = parse(text, { noLocation: true })
  const [definition, ...others] = document.definitions
  if (definition?.kind !== Kind.OPERATION_DEFINITION || others.length > 0)
    throw new Error(`${route.method} ${route.path} must name one operation, and nothing else`)
  return { route, document, definition }
}

/** Operations of one table have no names; beside each other, that would be a fault. */
const rules = specifiedRules.filter((rule) => rule !== LoneAnonymousOperationRule)

function requireFit(schema: GraphQLSchema, written: readonly Written[]): void {
  const [problem] = validate(schema, { kind: Kind.DOCUMENT, definitions: written.map(({ definition }) => definition) }, rules)
  if (!problem) return
  const wrong = written.find(({ document }) => validate(schema, document).length > 0)
  throw new Error(`${wrong?.route.method} ${wrong?.route.path} does not fit the schema: ${problem.message}`)
}

/** Reads the variables of a request; says in REST's names what does not fit. */
function givenBy(schema: GraphQLSchema, definition: OperationDefinitionNode, route: Route): (request: FastifyRequest) => Data {
  const readVariables = variablesReader(schema, definition, route)
  return (request) => {
    try {
      return readVariables(request)
    } catch (error) {
      throw error instanceof Error ? inRestNames(error, route.names) : error
    }
  }
}

function compile(schema: GraphQLSchema, { route, document, definition }: Written): CompiledOperation {
  if (route.method === 'GET' && definition.operation === OperationTypeNode.MUTATION && !route.changesWith)
    throw new Error(`${route.path} changes something, so HEAD must not run it: say which scope it needs in changesWith`)
  const isGuarded = needsCsrfToken(schema, document, definition)
  const requireCaller = callerCheck(schema, definition)
  const admit = operationAdmission(schema, definition)
  const given = givenBy(schema, definition, route)
  async function once(context: Context, after?: string): Promise<Data> {
    let hasRun = false
    try {
      const variableValues = { ...given(context.request), ...(after && { after }) }
      const result = await execute({ schema, document, contextValue: context, variableValues })
      hasRun = result.data !== undefined
      if (result.errors?.[0]) throw inRestNames(toApiError(result.errors[0]), route.names)
      return result.data as Data
    } catch (error) {
      // Fields admit requests that get to them. What does not fit is a request, too: it counts, and hears first what any other would.
      if (!hasRun) await admit(context)
      throw error
    }
  }
  async function run(context: Context): Promise<Data> {
    if (isGuarded) guardChange(context)
    await requireCaller(context)
    const data = await once(context)
    if (route.whole) await appendPages(data, route.whole, (after) => once(context, after))
    return data
  }
  function variables(request: FastifyRequest): Data {
    const { errors, variableValues } = getVariableValues(schema, definition.variableDefinitions ?? [], given(request))
    if (errors?.[0]) throw toApiError(errors[0])
    return { ...variableValues?.coerced }
  }
  return { document, definition, run, variables }
}

type Page = { nodes: unknown[]; pageInfo: { hasNextPage: boolean; endCursor: string } }

/** Puts every further page's nodes behind those of the first. */
async function appendPages(data: Data, path: string, next: (after: string) => Promise<Data>): Promise<void> {
  const connectionOf = (from: Data) => path.split('.').reduce<unknown>((value, key) => (value as Data)[key], from) as Page
  const first = connectionOf(data)
  for (let page = first; page.pageInfo.hasNextPage;) {
    page = connectionOf(await next(page.pageInfo.endCursor))
    first.nodes.push(...page.nodes)
  }
}
