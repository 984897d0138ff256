import type { JSONWebKeySet, JWTPayload } from 'jose'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Context } from '../../platform/access/context.ts'
import { loadJose, publicKeyAlgorithms, sha256 } from '../../platform/http/keys.ts'
import { isStorable } from '../../platform/outbound/texts.ts'
import { audit } from '../audit/service.ts'
import { openClient, readKeys } from './client.ts'
import { UsedLogoutToken } from './entity.ts'
import { endSessionsOf } from './identities.ts'
import { findProvider, type Provider } from './providers.ts'
import { recordFailure } from './attempts.ts'

/** A logout token that is not accepted. The message is for the provider. */
export class LogoutRejected extends Error {}

const event = 'http://schemas.openid.net/event/backchannel-logout'
const maxAgeSeconds = 300
const toleranceSeconds = 60
const maxBytes = 16 * 1024

/**
 * Ends the sessions that a logout token names (OpenID Connect Back-Channel Logout 1.0). Anyone can send a token, so a rejected one is logged, but is not a
 * failure of the provider.
 * @throws LogoutRejected for an invalid or used token; AttemptFailure if the keys of the provider cannot be read.
 */
export async function logOutByProvider(context: Context, name: string, token: unknown): Promise<void> {
  const provider = await findProvider(context, name)
  if (!provider) throw new LogoutRejected('There is no such provider.')
  try {
    await endSessions(context, provider, token)
  } catch (error) {
    if (error instanceof LogoutRejected) context.log.info(`Back-channel logout of the sign-in provider ${name}: ${error.message}`)
    throw error
  }
}

async function endSessions(context: Context, provider: Provider, token: unknown): Promise<void> {
  if (typeof token !== 'string' || token === '' || token.length > maxBytes)
    throw new LogoutRejected('The parameter logout_token is missing or too long.')
  const { issuer, keySet } = await readIssuer(context, provider)
  const claims = requireLogout(await verify(token, keySet, issuer, provider.clientId))
  const { em, ip, now } = context
  try {
    await em.fork().transactional(async (inner) => {
      const expiresAt = new Date(now().getTime() + 2 * maxAgeSeconds * 1000)
      inner.create(UsedLogoutToken, { hash: sha256(`${issuer} ${claims.jti}`), expiresAt })
      await inner.flush()
      const ended = await endSessionsOf(inner, { issuer, ...claims.which })
      const summary = `${provider.label} signed a user out of ${ended} ${ended === 1 ? 'session' : 'sessions'}`
      if (ended > 0) audit(inner, { kind: 'session.revoked', actor: null, summary, ip })
    })
  } catch (error) {
    throw error instanceof UniqueConstraintViolationException ? new LogoutRejected('The logout token was already used.') : error
  }
}

/** @throws AttemptFailure, which administrators see as a failure of the provider. */
async function readIssuer(context: Context, provider: Provider): Promise<{ issuer: string; keySet: JSONWebKeySet }> {
  try {
    const client = await openClient(context, provider)
    return { issuer: client.serverMetadata().issuer, keySet: await readKeys(client) }
  } catch (error) {
    return recordFailure(context, provider.name, error)
  }
}

async function verify(token: string, keySet: JSONWebKeySet, issuer: string, audience: string): Promise<JWTPayload> {
  const { createLocalJWKSet, errors, jwtVerify } = await loadJose()
  try {
    const keys = createLocalJWKSet(keySet)
    const options = { issuer, audience, algorithms: publicKeyAlgorithms, clockTolerance: toleranceSeconds, maxTokenAge: maxAgeSeconds }
    return (await jwtVerify(token, keys, options)).payload
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new LogoutRejected(`The logout token is not valid: ${error.message}`)
    throw new LogoutRejected('The logout token is not valid.')
  }
}

/** Checks the claims that a logout token has, and an ID token does not have. */
function requireLogout({ events, nonce, jti, sub, sid }: JWTPayload & { events?: unknown; sid?: unknown; nonce?: unknown }) {
  const isLogout = typeof events === 'object' && events !== null && event in events
  if (!isLogout || nonce !== undefined) throw new LogoutRejected('The token is not a logout token.')
  if (!isStorable({ jti, sub, sid })) throw new LogoutRejected('The logout token contains U+0000 or an unpaired surrogate.')
  if (typeof jti !== 'string' || jti === '') throw new LogoutRejected('The logout token has no jti.')
  const which = { ...(typeof sub === 'string' && { subject: sub }), ...(typeof sid === 'string' && { sid }) }
  if (Object.keys(which).length === 0) throw new LogoutRejected('The logout token names neither sub nor sid.')
  return { jti, which }
}
