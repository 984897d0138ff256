import { RequestCache } from '@pothos/plugin-scope-auth'
import { type GraphQLField, type GraphQLSchema, Kind, type OperationDefinitionNode } from 'graphql'
import type { Context } from '../access/context.ts'
import { refusal } from '../access/refusal.ts'
import { requireSetup } from '../access/setup-gate.ts'
import { refuseForeignOrigin } from '../http/csrf.ts'
import { addressKey, type LimitName } from '../http/limits/limits.ts'
import { builder } from './builder.ts'

/** Throws an ApiError when the request is refused. */
type Check = (context: Context) => Promise<void>
type RootField = GraphQLField<unknown, Context>

/** Whom a root field wants: scopes of the builder, of which the caller needs one. */
type Wanted = Exclude<NonNullable<Parameters<ReturnType<typeof cacheOf>['evaluateScopeMap']>[0]>, boolean>
type Declaration = { authScopes?: Wanted; skipTypeScopes?: boolean }

const cacheOf = (context: Context) => RequestCache.fromContext(context, builder)
const freeToAct: Wanted = { signedIn: true }

/**
 * Makes the check of who may run an operation, as its root fields declare. GraphQL asks them only once the arguments are read: a door that
 * wants to say first whom it serves asks this before. What it finds out is not found out again when the operation runs. `isOpen`: whether
 * anyone may run it, without a credential.
 * @throws ApiError MissingAuthentication or InsufficientPermissions (the check), Error for a field that decides by its arguments.
 */
export function callerCheck(schema: GraphQLSchema, operation: OperationDefinitionNode): { isOpen: boolean; check: Check } {
  const wanted = rootFields(schema, operation).flatMap(({ name, extensions }) => {
    const { authScopes, skipTypeScopes } = (extensions.pothosOptions ?? {}) as Declaration
    if (typeof authScopes === 'function') throw new Error(`${name} says who may use it only when its arguments are known`)
    return [...(skipTypeScopes ? [] : [freeToAct]), ...(authScopes ? [authScopes] : [])]
  })
  async function check(context: Context): Promise<void> {
    for (const scopes of wanted) {
      const failure = await cacheOf(context).evaluateScopeMap(scopes)
      if (failure) throw refusal(context, failure)
    }
  }
  return { isOpen: wanted.length === 0, check }
}

/**
 * What a root field asks of every request before its arguments are judged, as its extensions say (builder.ts): that there is an owner, that no
 * page of another site sent it, what its own `admit` asks, and a place in its `limit` for this address. Null when it asks nothing.
 */
export function admissionOf(field: RootField): Check | null {
  const admit = declaredAdmission(field)
  return admit && (async (context) => void (admitted.has(context.request) || (await admit(context))))
}

function declaredAdmission({ extensions }: RootField): Check | null {
  const { beforeSetup, ownOrigin } = extensions
  const { admit, limit } = extensions as { admit?: (context: Context) => unknown; limit?: LimitName }
  if (beforeSetup && !ownOrigin && !admit && !limit) return null
  return async (context) => {
    if (!beforeSetup) await requireSetup(context)
    if (ownOrigin) refuseForeignOrigin(context.request, context.config.SERVER_URL)
    if (admit) await admit(context)
    if (limit) await context.limits.use(limit, addressKey(context.ip))
  }
}

/** The same for all root fields of an operation, so that a request is counted before its body is read. The fields do not ask again. */
export function operationAdmission(schema: GraphQLSchema, operation: OperationDefinitionNode): Check {
  const checks = rootFields(schema, operation).map(declaredAdmission)
  return async (context) => {
    for (const check of checks) await check?.(context)
    admitted.add(context.request)
  }
}

/** Requests whose operation was admitted as a whole. */
const admitted = new WeakSet<Context['request']>()

/** The fields that an operation without fragments begins at. */
export function rootFields(schema: GraphQLSchema, { operation, selectionSet }: OperationDefinitionNode): RootField[] {
  const fields = schema.getRootType(operation)?.getFields() ?? {}
  return selectionSet.selections.flatMap((node) => (node.kind === Kind.FIELD ? (fields[node.name.value] ?? []) : []))
}
