import { isIP } from 'node:net'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import type { Config } from '../../platform/config/config.ts'
import { randomText } from '../../platform/http/keys.ts'
import type { Services } from '../../services.ts'
import { type ChallengePurpose, PasskeyChallenge } from './entity.ts'

/** Loads the WebAuthn library on first use: it takes 27 MB, and most servers start without needing it. */
export const webauthn = () => import('@simplewebauthn/server')

/** EdDSA, ES256 and RS256, by their COSE numbers. */
export const algorithms = [-8, -7, -257]

const challengeMs = 5 * 60_000

/**
 * Returns the domain that passkeys are bound to, and the origin of the pages that use them. Null where browsers have no passkeys: they need https, or
 * localhost, and a host name rather than an address.
 */
export function relyingParty({ SERVER_URL }: Pick<Config, 'SERVER_URL'>): { id: string; origin: string } | null {
  const { hostname, origin, protocol } = new URL(SERVER_URL)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  const isAddress = hostname.startsWith('[') || isIP(hostname) > 0
  return isAddress || (protocol !== 'https:' && !isLocal) ? null : { id: hostname, origin }
}

/** Returns the same, or throws Conflict. */
export function requireRelyingParty(config: Pick<Config, 'SERVER_URL'>): { id: string; origin: string } {
  const party = relyingParty(config)
  if (!party) throw conflict('Passkeys need a SERVER_URL with https and a host name. Ask an administrator.')
  return party
}

/** Stores a new challenge for one browser, in base64url. It is valid once, for five minutes. */
export async function issueChallenge({ em, now }: Context, purpose: ChallengePurpose, holder: string): Promise<string> {
  const challenge = randomText(32)
  await em.insert(PasskeyChallenge, { challenge, purpose, holder, expiresAt: new Date(now().getTime() + challengeMs) })
  return challenge
}

export const challengeBytes = (challenge: string) => Uint8Array.from(Buffer.from(challenge, 'base64url'))

type Response = { response: { clientDataJSON: string } }

/** Deletes the challenge that a response signed. Returns null if it has expired, was used, or was issued to another browser or for another purpose. */
export async function redeemChallenge(
  { em, now }: Context,
  purpose: ChallengePurpose,
  holder: string,
  { response }: Response,
): Promise<string | null> {
  const challenge = challengeIn(response.clientDataJSON)
  if (challenge === null) return null
  const redeemed = await em.nativeDelete(PasskeyChallenge, { challenge, purpose, holder, expiresAt: { $gt: now() } })
  return redeemed === 1 ? challenge : null
}

/** No page of this server runs in a frame of another site. */
const clientData = z.object({ challenge: z.string().length(43), crossOrigin: z.literal(false).optional() })

function challengeIn(clientDataJson: string): string | null {
  try {
    return clientData.parse(JSON.parse(Buffer.from(clientDataJson, 'base64url').toString())).challenge
  } catch {
    return null
  }
}

const base64url = z.string().regex(/^[\w-]+$/)
const credentialShape = {
  id: base64url.max(1400),
  rawId: base64url,
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}).default({}),
}

/** What a browser returns when it created a passkey. Other members are not used. */
export const registrationShape = z.object({
  ...credentialShape,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z
      .array(z.string().regex(/^[a-z-]{1,20}$/))
      .max(8)
      .catch([])
      .optional(),
  }),
})

/** What a browser returns when it signed a challenge. */
export const assertionShape = z.object({
  ...credentialShape,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish().transform((handle) => handle ?? undefined),
  }),
})

/** Deletes expired challenges. */
export const collectChallenges = ({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> =>
  database.fork().nativeDelete(PasskeyChallenge, { expiresAt: { $lte: now() } })
