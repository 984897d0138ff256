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
import { callerCheck, operationAdmission, needsCsrfToken } from '../graphql/caller-check.ts'
import { type AnswerField, answerFields, dataWriter, withoutDirectives } from './answer-fields.ts'
import type { Data, Route } from './route.ts'
import { toApiError } from '../graphql/errors.ts'
import { variablesReader } from './variables.ts'

export type CompiledOperation = {
  definition: OperationDefinitionNode
  fields: AnswerField[]
  /** Reads and coerces the variables of a request. Throws an ApiError if a value is invalid. */
  variables(request: FastifyRequest): Data
  isOpen: boolean
  /** Authorizes the request and counts it toward rate limits. Does not need the body. Throws an ApiError if the request is rejected. */
  admit(context: Context): Promise<void>
  /** Executes the operation for an admitted request and returns the data in its REST form (see answer-fields.ts). Throws an ApiError on any error. */
  run(context: Context): Promise<Data>
}

const compiled = new WeakMap<GraphQLSchema, Map<Route, CompiledOperation>>()

/** Parses and validates a route's operation, once per process. Throws an Error if it does not match the schema. */
export function compileOperation(schema: GraphQLSchema, route: Route): CompiledOperation {
  return compileOperations(schema, [route])(route)
}

/** Compiles the operations of all routes together, which takes half as long as one by one: each validation has a fixed cost. */
export function compileOperations(schema: GraphQLSchema, table: readonly Route[]): (route: Route) => CompiledOperation {
  const known = compiled.get(schema) ?? new Map<Route, CompiledOperation>()
  compiled.set(schema, known)
  const written = table.filter((route) => !known.has(route)).map(readOperation)
  requireFit(schema, written)
  for (const operation of written) known.set(operation.route, compile(schema, operation))
  return (route) => known.get(route) ?? compileOperation(schema, route)
}

/** A parsed operation. `annotated` includes the directives of answer-fields.ts. */
type Written = { route: Route; document: DocumentNode; definition: OperationDefinitionNode; annotated: OperationDefinitionNode }

function readOperation(route: Route): Written {
  const text = route.operation.trimStart().startsWith('{') ? `query ${route.operation}` : route.operation
  const written = parse(text, { noLocation: true })
  const [annotated, ...others] = written.definitions
  if (annotated?.kind !== Kind.OPERATION_DEFINITION || others.length > 0)
    throw new Error(`${route.method} ${route.path} must contain exactly one operation`)
  const document = withoutDirectives(written)
  return { route, document, definition: document.definitions[0] as OperationDefinitionNode, annotated }
}

/** Validation rules that allow several anonymous operations in a document, because all operations are validated together. */
const rules = specifiedRules.filter((rule) => rule !== LoneAnonymousOperationRule)

function requireFit(schema: GraphQLSchema, written: readonly Written[]): void {
  const [problem] = validate(schema, { kind: Kind.DOCUMENT, definitions: written.map(({ definition }) => definition) }, rules)
  if (!problem) return
  const wrong = written.find(({ document }) => validate(schema, document).length > 0)
  throw new Error(`${wrong?.route.method} ${wrong?.route.path} does not fit the schema: ${problem.message}`)
}

function compile(schema: GraphQLSchema, { route, document, definition, annotated }: Written): CompiledOperation {
  if (route.method === 'GET' && definition.operation === OperationTypeNode.MUTATION && !route.changesWith)
    throw new Error(
      `${route.path} is a GET that runs a mutation. Declare the scope that it requires in changesWith, so that HEAD does not run it.`,
    )
  const isGuarded = needsCsrfToken(schema, document, definition)
  const { isOpen, check: requireCaller } = callerCheck(schema, definition)
  const count = operationAdmission(schema, definition)
  const readVariables = variablesReader(schema, definition, route)
  const fields = answerFields(schema, annotated, route)
  const write = dataWriter(fields)
  async function admit(context: Context): Promise<void> {
    if (isGuarded) guardChange(context)
    await requireCaller(context)
    await count(context)
  }
  async function once(context: Context, after?: string): Promise<Data> {
    const variableValues = { ...readVariables(context.request), ...(after && { after }) }
    const result = await execute({ schema, document, contextValue: context, variableValues })
    if (result.errors?.[0]) throw toApiError(result.errors[0])
    return result.data as Data
  }
  async function run(context: Context): Promise<Data> {
    const data = await once(context)
    requireParts(data, route, context)
    if (route.allNodes) await appendPages(data, route.allNodes, (after) => once(context, after))
    return write ? write(data) : data
  }
  function variables(request: FastifyRequest): Data {
    const { errors, variableValues } = getVariableValues(schema, definition.variableDefinitions ?? [], readVariables(request))
    if (errors?.[0]) throw toApiError(errors[0])
    return { ...variableValues?.coerced }
  }
  return { definition, fields, isOpen, variables, admit, run }
}

/** Returns the value at a dotted path, or null if any part of the path is null. */
export const valueAt = (data: Data, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Data | null)?.[key] ?? null, data)

function requireParts(data: Data, { required }: Route, context: Context): void {
  for (const [path, missing] of Object.entries(required ?? {})) if (valueAt(data, path) === null) throw missing(context)
}

type Page = { nodes: unknown[]; pageInfo: { hasNextPage: boolean; endCursor: string } }

async function appendPages(data: Data, path: string, next: (after: string) => Promise<Data>): Promise<void> {
  const connectionOf = (from: Data) => valueAt(from, path) as Page
  const first = connectionOf(data)
  for (let page = first; page.pageInfo.hasNextPage;) {
    page = connectionOf(await next(page.pageInfo.endCursor))
    first.nodes.push(...page.nodes)
  }
}
