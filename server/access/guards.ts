import { AuthScopeFailureType } from '@pothos/plugin-scope-auth'
import type { Scope } from '../roles/roles.ts'
import { type Context, isSignedIn, type SignedInContext } from './context.ts'
import { canBrowse, canChangeOwnAccount, holdsScope } from './policy.ts'
import { nobody, refusal } from './refusal.ts'

/**
 * The builder's `scope` rule, for binary routes: the caller is known, free to act, and holds the scope now.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, worded as on GraphQL.
 */
export function requireScope(context: Context, scope: Scope): SignedInContext {
  if (isSignedIn(context) && holdsScope(context, scope)) return context
  throw refusal(context, { kind: AuthScopeFailureType.AuthScope, scope: 'scope', parameter: scope, error: null })
}

/**
 * The builder's `browse` rule, for binary routes: the caller may read packages; a caller who did not sign in, public ones.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, worded as on GraphQL.
 */
export function requireBrowse(context: Context): void | Promise<void> {
  if (context.viewer) return void requireScope(context, 'read')
  return Promise.resolve(canBrowse(context)).then((may) => {
    if (!may) throw nobody(context)
  })
}

/**
 * The builder's `ownAccount` rule, for binary routes: the caller may change their own account.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, worded as on GraphQL.
 */
export function requireOwnAccount(context: Context): SignedInContext {
  if (isSignedIn(context) && canChangeOwnAccount(context)) return context
  throw refusal(context, { kind: AuthScopeFailureType.AuthScope, scope: 'ownAccount', parameter: true, error: null })
}
