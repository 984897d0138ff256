import { RequestCache } from '@pothos/plugin-scope-auth'
import { type GraphQLSchema, Kind, type OperationDefinitionNode } from 'graphql'
import type { Context } from '../access/context.ts'
import { refusal } from '../access/refusal.ts'
import { builder } from './builder.ts'

/** Whom a root field wants: scopes of the builder, of which the caller needs one. */
type Wanted = Exclude<NonNullable<Parameters<ReturnType<typeof cacheOf>['evaluateScopeMap']>[0]>, boolean>
type Declaration = { authScopes?: Wanted; skipTypeScopes?: boolean }

const cacheOf = (context: Context) => RequestCache.fromContext(context, builder)
const freeToAct: Wanted = { signedIn: true }

/**
 * Makes the check of who may run an operation, as its root fields declare. GraphQL asks them only once the arguments are read: a door that
 * wants to say first whom it serves asks this before. What it finds out is not found out again when the operation runs.
 * @throws ApiError MissingAuthentication or InsufficientPermissions (the check), Error for a field that decides by its arguments.
 */
export function callerCheck(
  schema: GraphQLSchema,
  { operation, selectionSet }: OperationDefinitionNode,
): (context: Context) => Promise<void> {
  const fields = schema.getRootType(operation)?.getFields() ?? {}
  const wanted = selectionSet.selections.flatMap((node) => {
    const field = node.kind === Kind.FIELD ? fields[node.name.value] : undefined
    const { authScopes, skipTypeScopes } = (field?.extensions.pothosOptions ?? {}) as Declaration
    if (typeof authScopes === 'function') throw new Error(`${field?.name} says who may use it only when its arguments are known`)
    return [...(skipTypeScopes ? [] : [freeToAct]), ...(authScopes ? [authScopes] : [])]
  })
  return async (context) => {
    for (const scopes of wanted) {
      const failure = await cacheOf(context).evaluateScopeMap(scopes)
      if (failure) throw refusal(context, failure)
    }
  }
}
