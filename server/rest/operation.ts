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
import { type AnswerField, answerFields, dataWriter, withoutDirectives } from './answer-fields.ts'
import type { Data, Route } from './route.ts'
import { inRestNames } from './names.ts'
import { toApiError } from '../graphql/operation-errors.ts'
import { variablesReader } from './variables.ts'

export type CompiledOperation = {
  definition: OperationDefinitionNode
  /** What it selects, and how REST shows it. */
  fields: AnswerField[]
  /** What the request gives for its variables, coerced as for running it; throws an ApiError when something does not fit. */
  variables(request: FastifyRequest): Data
  /** Whether it needs no credential. */
  isOpen: boolean
  /** Checks who sends the request, and counts it toward rate limits. Needs no body. Throws an ApiError for a request that is refused. */
  admit(context: Context): Promise<void>
  /** Runs it for a request that was admitted; the data is in REST's form (answer-fields.ts). Throws an ApiError when anything fails. */
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

/** `annotated`: the operation with the directives of answer-fields.ts. */
type Written = { route: Route; document: DocumentNode; definition: OperationDefinitionNode; annotated: OperationDefinitionNode }

function readOperation(route: Route): Written {
  const text = route.operation.trimStart().startsWith('{') ? `query ${route.operation}` : route.operation
  const written = parse(text, { noLocation: true })
  const [annotated, ...others] = written.definitions
  if (annotated?.kind !== Kind.OPERATION_DEFINITION || others.length > 0)
    throw new Error(`${route.method} ${route.path} must name one operation, and nothing else`)
  const document = withoutDirectives(written)
  return { route, document, definition: document.definitions[0] as OperationDefinitionNode, annotated }
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

function compile(schema: GraphQLSchema, { route, document, definition, annotated }: Written): CompiledOperation {
  if (route.method === 'GET' && definition.operation === OperationTypeNode.MUTATION && !route.changesWith)
    throw new Error(`${route.path} changes something, so HEAD must not run it: say which scope it needs in changesWith`)
  const isGuarded = needsCsrfToken(schema, document, definition)
  const { isOpen, check: requireCaller } = callerCheck(schema, definition)
  const count = operationAdmission(schema, definition)
  const given = givenBy(schema, definition, route)
  const fields = answerFields(schema, annotated, route)
  const write = dataWriter(fields)
  async function admit(context: Context): Promise<void> {
    if (isGuarded) guardChange(context)
    await requireCaller(context)
    await count(context)
  }
  async function once(context: Context, after?: string): Promise<Data> {
    const variableValues = { ...given(context.request), ...(after && { after }) }
    const result = await execute({ schema, document, contextValue: context, variableValues })
    if (result.errors?.[0]) throw inRestNames(toApiError(result.errors[0]), route.names)
    return result.data as Data
  }
  async function run(context: Context): Promise<Data> {
    const data = await once(context)
    requireParts(data, route, context)
    if (route.whole) await appendPages(data, route.whole, (after) => once(context, after))
    return write ? write(data) : data
  }
  function variables(request: FastifyRequest): Data {
    const { errors, variableValues } = getVariableValues(schema, definition.variableDefinitions ?? [], given(request))
    if (errors?.[0]) throw toApiError(errors[0])
    return { ...variableValues?.coerced }
  }
  return { definition, fields, isOpen, variables, admit, run }
}

/** The value at a dotted path; null also when something on the way is null. */
export const valueAt = (data: Data, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Data | null)?.[key] ?? null, data)

function requireParts(data: Data, { required }: Route, context: Context): void {
  for (const [path, refusal] of Object.entries(required ?? {})) if (valueAt(data, path) === null) throw refusal(context)
}

type Page = { nodes: unknown[]; pageInfo: { hasNextPage: boolean; endCursor: string } }

/** Puts every further page's nodes behind those of the first. */
async function appendPages(data: Data, path: string, next: (after: string) => Promise<Data>): Promise<void> {
  const connectionOf = (from: Data) => valueAt(from, path) as Page
  const first = connectionOf(data)
  for (let page = first; page.pageInfo.hasNextPage;) {
    page = connectionOf(await next(page.pageInfo.endCursor))
    first.nodes.push(...page.nodes)
  }
}
