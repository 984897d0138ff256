import { AuthScopeFailureType } from '@pothos/plugin-scope-auth'
import { passwordIsDue } from '../roles/viewer.ts'
import type { Context, SignedInContext } from './context.ts'
import { nobody, refusal } from './refusal.ts'
import type { Scope } from '../roles/roles.ts'
import { mayChangeOwnAccount } from '../roles/viewer.ts'
import { mayBrowseAnonymously } from './audience.ts'

/**
 * The builder's `scope` rule, for binary routes: the caller is known, free to act, and holds the scope now.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, worded as on GraphQL.
 */
export function requireScope(context: Context, scope: Scope): SignedInContext {
  const { viewer, credential } = context
  if (!viewer || !credential || passwordIsDue(context) || !context.scopes.has(scope)) {
    throw refusal(context, { kind: AuthScopeFailureType.AuthScope, scope: 'scope', parameter: scope, error: null })
  }
  return context as SignedInContext
}

/**
 * The builder's `browse` rule, for binary routes: the caller may read packages; a caller who did not sign in, public ones.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, worded as on GraphQL.
 */
export function requireBrowse(context: Context): void | Promise<void> {
  if (context.viewer) return void requireScope(context, 'read')
  return Promise.resolve(mayBrowseAnonymously(context)).then((may) => {
    if (!may) throw nobody(context)
  })
}

/**
 * The builder's `ownAccount` rule, for binary routes: the caller may change their own account.
 * @throws ApiError MissingAuthentication or InsufficientPermissions, worded as on GraphQL.
 */
export function requireOwnAccount(context: Context): SignedInContext {
  const { viewer, credential } = context
  if (!viewer || !credential || passwordIsDue(context) || !mayChangeOwnAccount(context)) {
    throw refusal(context, { kind: AuthScopeFailureType.AuthScope, scope: 'ownAccount', parameter: true, error: null })
  }
  return context as SignedInContext
}
