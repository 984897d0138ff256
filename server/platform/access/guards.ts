import { AuthScopeFailureType, type AuthFailure } from '@pothos/plugin-scope-auth'
import { hasPausedToken, tokenRejections } from './authenticate.ts'
import { passwordIsDue, type Scope } from './roles.ts'
import { type Context, isSignedIn, type SignedInContext } from './context.ts'
import { canBrowse, canChangeOwnAccount, holdsScope, secondFactorIsDue } from './policy.ts'
import { hostedUrl, publicUrl } from '../http/public-url.ts'
import {
  type ApiError,
  insufficientPermissions,
  missingAuthentication,
  passwordProofRequired,
  providerProofRequired,
} from '../../errors.ts'

/** Returns the context if the caller is signed in and holds `scope`. @throws ApiError the same as the `scope` rule of GraphQL fields. */
export function requireScope(context: Context, scope: Scope): SignedInContext {
  if (isSignedIn(context) && holdsScope(context, scope)) return context
  throw missingAccess(context, { kind: AuthScopeFailureType.AuthScope, scope: 'scope', parameter: scope, error: null })
}

/** Enforces the `browse` rule of the schema builder in binary routes: the caller may read packages, or public packages if anonymous. */
export function requireBrowse(context: Context): void | Promise<void> {
  if (context.viewer) return void requireScope(context, 'read')
  return Promise.resolve(canBrowse(context)).then((may) => {
    if (!may) throw unauthenticated(context)
  })
}

/** Enforces the `ownAccount` rule of the schema builder in binary routes: the caller may change their own account. */
export function requireOwnAccount(context: Context): SignedInContext {
  if (isSignedIn(context) && canChangeOwnAccount(context)) return context
  throw missingAccess(context, { kind: AuthScopeFailureType.AuthScope, scope: 'ownAccount', parameter: true, error: null })
}

/** Returns the error for a request that lacks a scope: 401 for anonymous callers, otherwise 403 with the reason. */
export function missingAccess(context: Context, failure: AuthFailure): ApiError {
  const { request, viewer, credential, config } = context
  if (!viewer || !credential) return unauthenticated(context)
  if (passwordIsDue(context)) return newPasswordFirst()
  if (secondFactorIsDue(context)) {
    return insufficientPermissions(
      'This server requires a second factor: prove it with a passkey or a code of your authenticator app, or add one of them. Until then this session can do nothing else.',
    )
  }
  const lacking = lackingScope(failure)
  if (lacking === 'ownAccount' && viewer.kind === 'service')
    return insufficientPermissions('A service account cannot do this: its administrators manage the account and its tokens.')
  if (lacking === 'owner') return insufficientPermissions('Only the owner of this server may do this.')
  if (lacking === 'session') return insufficientPermissions('This needs a signed-in browser session, not an access token.')
  if (lacking && credential.kind === 'token') {
    const scope = { ownAccount: 'write', browse: 'read' }[lacking] ?? lacking
    return insufficientPermissions(
      `This access token lacks the scope "${scope}". Create another one at ${publicUrl(request, config.SERVER_URL)}/settings/tokens if your role allows it.`,
    )
  }
  return insufficientPermissions(`Your role (${viewer.role}) does not allow this.`)
}

const newPasswordFirst = () => insufficientPermissions('Choose a new password first: until then this session can do nothing else.')

/** Rejects sessions that must choose a new password first, where sessions that lack a required second factor are allowed. */
export function requireChosenPassword(context: Context): void {
  if (passwordIsDue(context)) throw newPasswordFirst()
}

/** Options of fields that a session may use before it has proved a required second factor, but not before a required password change. */
export const beforeSecondFactor = { skipTypeScopes: true, extensions: { admit: requireChosenPassword } } as const

/**
 * Returns the 401 error. Only the advice in the message depends on whether a credential was missing or invalid.
 *
 * The package client gets 403 for an archive requested without a token. It has read the listing with its token, so it calls this server by another
 * address than SERVER_URL, which archive URLs have, and sends its token only to the address that it knows. After a 401 it would delete that token.
 */
export function unauthenticated(
  { request, config }: Pick<Context, 'request' | 'config'>,
  isMissing = request.headers.authorization === undefined,
): ApiError {
  const rejection = tokenRejections.get(request)
  if (rejection) return rejection
  if (hasPausedToken(request)) {
    const here = publicUrl(request, config.SERVER_URL)
    return missingAuthentication(
      `This token is paused, because you have not signed in for ${config.OIDC_MAX_IDLE_DAYS} days. Sign in at ${here} to use it again.`,
    )
  }
  const hosted = hostedUrl(request, config.SERVER_URL)
  if (isMissing && request.routeOptions.config.isArchive && isPackageClient(request))
    return insufficientPermissions(`This registry is at ${hosted}. Use that address.`)
  const advice = `Create a token at ${publicUrl(request, config.SERVER_URL)}/settings/tokens and add it with: dart pub token add ${hosted}`
  return missingAuthentication(isMissing ? `Authentication is required. ${advice}` : `The token is invalid, expired or revoked. ${advice}`)
}

/** Whether `dart pub` or `flutter pub` sent a request. Source: `_PubHttpClient.send`, which sends `Dart pub <version of the SDK>`. */
const isPackageClient = ({ headers }: Context['request']): boolean => /^Dart pub /i.test(headers['user-agent'] ?? '')

/** Throws MissingAuthentication for an invalid token even where anonymous access is allowed: its sender expects to be signed in. */
export function rejectUselessCredential(context: Context): void {
  if (!context.viewer && context.request.headers.authorization !== undefined) throw unauthenticated(context)
}

function lackingScope(failure: AuthFailure): string | null {
  if (failure.kind === AuthScopeFailureType.AuthScope) return failure.scope === 'scope' ? String(failure.parameter) : failure.scope
  if (failure.kind === AuthScopeFailureType.AnyAuthScopes || failure.kind === AuthScopeFailureType.AllAuthScopes) {
    return failure.failures.map(lackingScope).find((scope) => scope !== null) ?? null
  }
  return null
}

/** How long a password confirmation is valid for sensitive operations, which an unlocked browser alone should not allow. */
export const recentMs = 10 * 60_000

/**
 * Requires that the user of the session proved who they are in the last ten minutes. Tokens are limited by their scopes instead.
 * @throws ApiError InsufficientPermissions with a marker that makes the console ask for the proof and retry.
 */
export function requireRecentProof({ viewer, credential, now }: Pick<SignedInContext, 'viewer' | 'credential' | 'now'>): void {
  if (credential.kind !== 'session' || credential.provedAt.getTime() + recentMs > now().getTime()) return
  throw viewer.hasPassword === false ? providerProofRequired() : passwordProofRequired()
}
