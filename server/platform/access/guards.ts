import { AuthScopeFailureType } from '@pothos/plugin-scope-auth'
import type { Scope } from '../roles/roles.ts'
import { type Context, isSignedIn, type SignedInContext } from './context.ts'
import { canBrowse, canChangeOwnAccount, holdsScope } from './policy.ts'
import { unauthenticated, refusal } from './refusal.ts'

/**
 * Enforces the `scope` rule of the schema builder in binary routes: the caller is signed in, free to act, and currently holds the scope.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, with the same messages as GraphQL.
 */
export function requireScope(context: Context, scope: Scope): SignedInContext {
  if (isSignedIn(context) && holdsScope(context, scope)) return context
  throw refusal(context, { kind: AuthScopeFailureType.AuthScope, scope: 'scope', parameter: scope, error: null })
}

/**
 * Enforces the `browse` rule of the schema builder in binary routes: the caller may read packages, or public packages if anonymous.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, with the same messages as GraphQL.
 */
export function requireBrowse(context: Context): void | Promise<void> {
  if (context.viewer) return void requireScope(context, 'read')
  return Promise.resolve(canBrowse(context)).then((may) => {
    if (!may) throw unauthenticated(context)
  })
}

/**
 * Enforces the `ownAccount` rule of the schema builder in binary routes: the caller may change their own account.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, with the same messages as GraphQL.
 */
export function requireOwnAccount(context: Context): SignedInContext {
  if (isSignedIn(context) && canChangeOwnAccount(context)) return context
  throw refusal(context, { kind: AuthScopeFailureType.AuthScope, scope: 'ownAccount', parameter: true, error: null })
}
