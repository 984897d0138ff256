import { AuthScopeFailureType } from '@pothos/plugin-scope-auth'
import { passwordIsDue } from './builder.ts'
import type { Context, SignedInContext } from './context.ts'
import { refusal } from './refusal.ts'
import type { Scope } from './tokens/entity.ts'

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
