import { RequestCache } from '@pothos/plugin-scope-auth'
import {
  type GraphQLField,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type DocumentNode,
  type SelectionSetNode,
} from 'graphql'
import type { Context } from '../access/context.ts'
import { missingAccess } from '../access/guards.ts'
import { requireSetup } from '../access/setup-gate.ts'
import { rejectForeignOrigin } from '../http/cookies.ts'
import { addressKey, type LimitName } from '../http/limits.ts'
import { builder } from './builder.ts'

type Check = (context: Context) => Promise<void>
type RootField = GraphQLField<unknown, Context>

type Wanted = Exclude<NonNullable<Parameters<ReturnType<typeof cacheOf>['evaluateScopeMap']>[0]>, boolean>
type Declaration = { authScopes?: Wanted; skipTypeScopes?: boolean }

const cacheOf = (context: Context) => RequestCache.fromContext(context, builder)
const freeToAct: Wanted = { signedIn: true }

/**
 * Returns a check of the scopes of the root fields, which REST runs before it reads the body, and `isOpen`: no credential is required.
 * @throws ApiError MissingAuthentication or InsufficientPermissions (the check); Error for a field whose scopes depend on its arguments.
 */
export function callerCheck(schema: GraphQLSchema, operation: OperationDefinitionNode): { isOpen: boolean; check: Check } {
  const wanted = rootFields(schema, operation).flatMap(({ name, extensions }) => {
    const { authScopes, skipTypeScopes } = (extensions.pothosOptions ?? {}) as Declaration
    if (typeof authScopes === 'function') throw new Error(`The scopes of ${name} depend on its arguments`)
    return [...(skipTypeScopes ? [] : [freeToAct]), ...(authScopes ? [authScopes] : [])]
  })
  async function check(context: Context): Promise<void> {
    for (const scopes of wanted) {
      const failure = await cacheOf(context).evaluateScopeMap(scopes)
      if (failure) throw missingAccess(context, failure)
    }
  }
  return { isOpen: wanted.length === 0, check }
}

/** Returns the checks that a root field declares in its extensions (see builder.ts) and that run before its arguments are validated. */
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
    if (ownOrigin) rejectForeignOrigin(context.request, context.config.SERVER_URL)
    if (admit) await admit(context)
    if (limit) await context.limits.use(limit, addressKey(context.ip))
  }
}

/** Returns the admission checks of all root fields, for use before the body is read. The fields then do not repeat them. */
export function operationAdmission(schema: GraphQLSchema, operation: OperationDefinitionNode): Check {
  const checks = rootFields(schema, operation).map(declaredAdmission)
  return async (context) => {
    for (const check of checks) await check?.(context)
    admitted.add(context.request)
  }
}

/** Requests that passed the admission checks of their whole operation. */
const admitted = new WeakSet<Context['request']>()

/** Returns the root fields of an operation, which must not use fragments. */
export function rootFields(schema: GraphQLSchema, { operation, selectionSet }: OperationDefinitionNode): RootField[] {
  const fields = schema.getRootType(operation)?.getFields() ?? {}
  return selectionSet.selections.flatMap((node) => (node.kind === Kind.FIELD ? (fields[node.name.value] ?? []) : []))
}

/** Whether an operation needs the CSRF token with a session: a mutation, unless all its root fields reject other sites (`ownOrigin`). */
export function needsCsrfToken(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): boolean {
  if (operation.operation !== 'mutation') return false
  const fields = schema.getMutationType()?.getFields() ?? {}
  return !rootFieldNames(document, operation.selectionSet).every((name) => name === '__typename' || fields[name]?.extensions.ownOrigin)
}

/** Returns the names of all root fields, also in fragments. Visits each fragment once: repeated visits could double at each level. */
function rootFieldNames(document: DocumentNode, { selections }: SelectionSetNode, entered = new Set<string>()): string[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return selection.name.value
    if (selection.kind === Kind.INLINE_FRAGMENT) return rootFieldNames(document, selection.selectionSet, entered)
    const { value: name } = selection.name
    if (entered.has(name)) return []
    entered.add(name)
    const fragment = document.definitions.find((node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name)
    return fragment?.kind === Kind.FRAGMENT_DEFINITION ? rootFieldNames(document, fragment.selectionSet, entered) : name
  })
}
