import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  getVariableValues,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  GraphQLIncludeDirective,
  type GraphQLSchema,
  GraphQLSkipDirective,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'
import { invalidInput } from '../../errors.ts'
import type { Context } from '../access/context.ts'
import { turnOf } from '../http/limits.ts'
import { createFairLimiter, type FairLimiter } from '../threads/fair-limiter.ts'
import { yieldToEventLoop } from '../threads/slices.ts'

export const maxCost = 5000

/** Assumed size of a list without `first` that does not declare `extensions: { size }`. */
const defaultSize = 100

type Variables = Parameters<typeof getArgumentValues>[2]
type Walk = {
  schema: GraphQLSchema
  variables: Variables
  fragments: ReadonlyMap<string, FragmentDefinitionNode>
  /** Memoized cost of a fragment by name and page size, so that each fragment is visited once per page size. */
  known: Map<string, number>
}
type Weights = { size?: number; cost?: number }

/**
 * Estimates the cost of an operation: one point per resolved field (or its declared cost), multiplied by list sizes. The size of a page is its
 * `first`; other lists declare theirs. Each 1,000 characters of text in arguments add a point. Returns null if the variables are invalid.
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Record<string, unknown>,
): number | null {
  const type = schema.getRootType(operation.operation)
  const values = getVariableValues(schema, operation.variableDefinitions ?? [], given)
  if (!type || !values.variableValues) return null
  const definitions = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
  const fragments = new Map(definitions.map((node) => [node.name.value, node]))
  return costOfFields({ schema, variables: values.variableValues, fragments, known: new Map() }, operation.selectionSet, type, 1)
}

/** Returns the cost of an operation, rounded up; 0 if its variables are invalid. Throws InvalidInput if it exceeds the maximum. */
export function rejectExpensive(...asked: Parameters<typeof costOf>): number {
  const cost = Math.ceil(costOf(...asked) ?? 0)
  if (cost > maxCost)
    throw invalidInput(`This query costs ${cost}, and one may cost ${maxCost}. Request smaller pages or fewer fields, or send less text.`)
  return cost
}

/** Sums up the cost of a selection set. `page` is the size of the page that the fields `nodes` and `edges` belong to. */
function costOfFields(walk: Walk, { selections }: SelectionSetNode, type: GraphQLNamedType, page: number): number {
  return selections.reduce((sum, selection) => sum + (isLeftOut(walk, selection) ? 0 : costOfSelection(walk, selection, type, page)), 0)
}

function costOfSelection(walk: Walk, selection: SelectionNode, type: GraphQLNamedType, page: number): number {
  if (selection.kind === Kind.FIELD) return costOfField(walk, selection, type, page)
  if (selection.kind === Kind.INLINE_FRAGMENT) {
    const name = selection.typeCondition?.name.value
    return costOfFields(walk, selection.selectionSet, (name && walk.schema.getType(name)) || type, page)
  }
  const { value: name } = selection.name
  const key = `${name} ${page}`
  const known = walk.known.get(key)
  if (known !== undefined) return known
  const fragment = walk.fragments.get(name)
  if (!fragment) return 0
  // Validation rejects cyclic fragments earlier; this entry prevents endless recursion in any case.
  walk.known.set(key, 0)
  const cost = costOfFields(walk, fragment.selectionSet, walk.schema.getType(fragment.typeCondition.name.value) ?? type, page)
  walk.known.set(key, cost)
  return cost
}

function costOfField(walk: Walk, node: FieldNode, type: GraphQLNamedType, page: number): number {
  const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined
  // `__typename` is free. The cost of introspection is limited by the maximum depth.
  if (!field) return 0
  const { size, cost: ownCost = 1 } = field.extensions as Weights
  const inner = getNamedType(field.type)
  const isList = isListType(getNullableType(field.type))
  const args = field.args.length > 0 ? argumentsOf(walk, field, node) : {}
  const cost = ownCost + Math.floor(textIn(args) / 1000)
  const asked = pageSize(field, args)
  const isPart = /^(Query|\w+)Connection$/.test(type.name) && (node.name.value === 'nodes' || node.name.value === 'edges')
  const times = isPart ? page : isList ? (asked ?? size ?? defaultSize) : 1
  if (!isCompositeType(inner) || !node.selectionSet) return cost * (isList ? Math.max(1, times / 10) : 1)
  return cost + times * (1 + costOfFields(walk, node.selectionSet, inner, asked ?? 1))
}

/** Returns the number of objects that the arguments request, by `first` or a list of ids; null if the field has no such argument. */
function pageSize(field: GraphQLField<unknown, unknown>, { first, ids }: Record<string, unknown>): number | null {
  if (!field.args.some(({ name }) => name === 'first' || name === 'ids')) return null
  if (Array.isArray(ids)) return ids.length
  // Negative sizes are rejected during execution.
  return typeof first === 'number' ? Math.max(1, first) : 1
}

function textIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, part) => sum + textIn(part), 0)
}

function argumentsOf({ variables }: Walk, field: GraphQLField<unknown, unknown>, node: FieldNode): Record<string, unknown> {
  try {
    return getArgumentValues(field, node, variables)
  } catch (error) {
    // Invalid arguments are rejected before execution, so they cost nothing.
    if (error instanceof GraphQLError) return {}
    throw error
  }
}

function isLeftOut({ variables }: Walk, node: SelectionNode): boolean {
  const skip = getDirectiveValues(GraphQLSkipDirective, node, variables)
  const include = getDirectiveValues(GraphQLIncludeDirective, node, variables)
  return skip?.if === true || include?.if === false
}

/** Queries above this cost are queued, because an expensive query occupies most of a CPU, also of the database server. */
const expensiveFrom = 1000

declare module '../../services.ts' {
  interface State {
    expensiveTurns?: FairLimiter
  }
}

const turnsOf = ({ state }: Context): FairLimiter =>
  (state.expensiveTurns ??= createFairLimiter({ atOnce: 1, waiting: 64, waitingPerKey: 16 }))

/** Executes an operation; expensive ones run one at a time. Throws RateLimitExceeded if their queue is full. */
export function executeInTurn<Result>(context: Context, cost: number, execute: () => Result | Promise<Result>): Promise<Result> {
  const work = async () => {
    context.budget?.restart()
    await yieldToEventLoop()
    return await execute()
  }
  return cost > expensiveFrom ? turnsOf(context)(turnOf(context), work) : work()
}
