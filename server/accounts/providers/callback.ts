import * as oidc from 'openid-client'
import { type Context, isSignedIn, type SignedInContext } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { randomText, sha256 } from '../../platform/http/keys.ts'
import { seal, unseal } from '../../platform/http/sealed.ts'
import { audit } from '../audit/service.ts'
import { ProviderSession, Session } from '../sessions/entity.ts'
import { originOf } from '../sessions/origin.ts'
import { countSignInFailure, sendSession, startSession } from '../sessions/start.ts'
import { type Answer, type Client, exchange, openClient, AttemptFailure } from './client.ts'
import { LinkedIdentity, OidcAttempt } from './entity.ts'
import { type Groups, highestRole, mapGroups, type Mapping, readGroupRules, readGroups, writeGrants } from './groups.ts'
import { acceptWithIdentity, applyGrants, emailOf, findLinked, linkIdentity, type Person, signUpWithIdentity } from './identities.ts'
import { findProvider, type Provider, recordOutcome } from './providers.ts'
import { type Attempt, takeAttempt, loginPath, withQuery } from './attempts.ts'

/** A verified attempt: the person at the provider, and what their groups give. */
type Verified = Answer & { client: Client; provider: Provider; person: Person; groups: Groups; mapping: Mapping | null; attempt: Attempt }

/** How long before the start of the attempt a sign-in may be for a proof, for clocks that differ. */
const skewSeconds = 60

/**
 * Completes the attempt of a callback.
 * @returns the path of this server to send the browser to, with the parameters `error` and `provider` if the attempt failed.
 */
export async function finishAttempt(context: Context, name: string): Promise<string> {
  let attempt: Attempt | null = null
  try {
    const provider = await findProvider(context, name)
    if (!provider) throw new AttemptFailure('unknown_provider')
    attempt = await takeAttempt(context, name, (context.request.query as { state?: unknown }).state)
    if (attempt.isExpired) throw new AttemptFailure('expired')
    const verified = await verify(context, provider, attempt)
    const path = await completions[attempt.purpose](context, verified)
    await recordOutcome(context, name, null)
    return path
  } catch (error) {
    if (!(error instanceof AttemptFailure)) throw error
    if (attempt === null || attempt.purpose === 'signIn' || attempt.purpose === 'invite') countSignInFailure(context, error.code)
    if (error.isFaultOfProvider) await recordOutcome(context, name, error.message)
    else if (error.message !== error.code) context.log.info(`Sign-in provider ${name}: ${error.message}`)
    return withQuery(failurePath(attempt), { error: error.code, provider: name })
  }
}

/** Returns the page that shows why an attempt failed. */
function failurePath(attempt: Attempt | null): string {
  if (attempt === null || attempt.purpose === 'signIn') return loginPath(attempt?.returnTo)
  if (attempt.purpose === 'invite') return `/invite/${attempt.invite}`
  return attempt.returnTo
}

async function verify(context: Context, provider: Provider, attempt: Attempt): Promise<Verified> {
  const client = await openClient(context, provider)
  const callback = new URL(attempt.redirectUri)
  callback.search = new URL(context.request.url, callback).search
  const signedInSince = attempt.purpose === 'proof' ? Math.floor(attempt.startedAt.getTime() / 1000) - skewSeconds : null
  const answer = await exchange(client, callback, { ...attempt, signedInSince })
  const { claims } = answer
  const groups = readGroups(claims, provider.groupsClaim)
  if (groups?.isIncomplete)
    context.log.warning(
      `Sign-in provider ${provider.name}: the user is in too many groups to be listed, so roles and memberships do not change.`,
    )
  const rules = await readGroupRules(context, provider.name)
  const mapping = mapGroups(groups, rules)
  return { ...answer, client, provider, attempt, groups, mapping, person: { issuer: claims.iss, subject: claims.sub, claims } }
}

type Completion = (context: Context, verified: Verified) => Promise<string>

const completions: Record<Attempt['purpose'], Completion> = {
  signIn: async (context, verified) => {
    const { provider, person, groups } = verified
    const signUp = () => orAudit(context, provider, () => signUpWithIdentity(context, provider, person, groups))
    return signIn(context, verified, (await findLinked(context.em, person)) ?? (await signUp()))
  },
  invite: async (context, verified) => {
    const { provider, person, attempt } = verified
    return signIn(context, verified, await acceptWithIdentity(context, provider, person, attempt.invite ?? ''))
  },
  link: async (context, { provider, person, attempt }) => {
    await linkIdentity(requireOwnSession(context, attempt), provider, person)
    return attempt.returnTo
  },
  proof: async (context, { provider, person, attempt, claims }) => {
    const own = requireOwnSession(context, attempt)
    const linked = await findLinked(context.em, person)
    if (linked?.user.id !== own.viewer.id) throw new AttemptFailure('wrong_identity')
    await confirm(own, provider, hasSecondFactor(provider, claims))
    return attempt.returnTo
  },
  test: (context, verified) => showTest(requireOwnSession(context, verified.attempt), verified),
}

/** Writes an audit entry for a person without an account. */
async function orAudit<Result>({ em, ip }: Context, { label }: Provider, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    audit(em, { kind: 'user.login_failed', actor: null, summary: `Someone without a linked account tried to sign in through ${label}`, ip })
    await em.flush()
    throw error
  }
}

/** Requires that the session that started the attempt sent the callback. @throws AttemptFailure `session_ended` */
function requireOwnSession(context: Context, { session }: Attempt): SignedInContext {
  if (isSignedIn(context) && context.credential.kind === 'session' && context.credential.id === session) return context
  throw new AttemptFailure('session_ended')
}

async function signIn(
  context: Context,
  { client, provider, person, mapping, attempt, claims, idToken }: Verified,
  linked: LinkedIdentity,
): Promise<string> {
  const { now, keys, request, config } = context
  const user = linked.user
  const origin = await originOf(context, user.id)
  const session = await startSession(context, user, {
    way: 'provider',
    origin,
    hasSecondFactor: hasSecondFactor(provider, claims),
    changes: { providerSignInAt: now() },
    columns: { provedAt: provedAtOf(claims, now()) },
    summary: `${user.displayName} signed in through ${provider.label}`,
    also: async (inner, started) => {
      const used = { lastUsedAt: now(), email: emailOf(person), ...(mapping && writeGrants(provider.name, mapping)) }
      if ((await inner.nativeUpdate(LinkedIdentity, { id: linked.id, user: user.id }, used)) === 0) throw new AttemptFailure('not_linked')
      const { issuer, subject } = person
      const sid = typeof claims.sid === 'string' ? claims.sid.slice(0, 255) : null
      const endSessionUrl = buildEndSessionUrl(client, idToken, publicUrl(request, config.SERVER_URL))
      inner.create(ProviderSession, { session: started, issuer, subject, sid, endSessionUrl: endSessionUrl && seal(keys, endSessionUrl) })
      if (mapping) await applyGrants(inner, context, user)
    },
  })
  if (!session) throw new AttemptFailure('account_disabled')
  sendSession(context, session, origin)
  return attempt.returnTo
}

/** Methods of RFC 8176 by kind: what a person knows, has and is. */
const methods: readonly (readonly unknown[])[] = [
  ['pwd', 'pin', 'kba'],
  ['otp', 'hwk', 'swk', 'sc', 'pop', 'sms', 'tel'],
  ['face', 'fpt', 'iris', 'retina', 'vbm'],
]

/** Returns whether a sign-in at a provider counts as having a second factor: it reports `mfa` or methods of two kinds, or an administrator trusts it. */
function hasSecondFactor({ trustsSecondFactor }: Provider, { amr }: Answer['claims']): boolean {
  const used: unknown[] = [amr].flat()
  return trustsSecondFactor || used.includes('mfa') || methods.filter((kind) => kind.some((method) => used.includes(method))).length > 1
}

/** Returns when the person last proved who they are at the provider. A sign-in without that time may be silent, and proves nothing. */
const provedAtOf = ({ auth_time: seconds }: Answer['claims'], now: Date): Date =>
  new Date(typeof seconds === 'number' ? Math.max(0, Math.min(seconds * 1000, now.getTime())) : 0)

/** Returns the URL that signs out at the provider; null where it has none. Long ID tokens are left out. */
function buildEndSessionUrl(client: Client, idToken: string, serverUrl: string): string | null {
  if (client.serverMetadata().end_session_endpoint === undefined) return null
  const hint: Record<string, string> = idToken.length <= 6000 ? { id_token_hint: idToken } : {}
  return oidc.buildEndSessionUrl(client, { post_logout_redirect_uri: `${serverUrl}/login`, ...hint }).href
}

/** Records that the user of a session just proved who they are, with a second factor or without. */
async function confirm({ em, viewer, credential, ip, now }: SignedInContext, { label }: Provider, withSecond: boolean): Promise<void> {
  await em.fork().transactional(async (inner) => {
    const proof = { provedAt: now(), ...(withSecond && { hasSecondFactor: true }) }
    const proved = await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, proof)
    if (proved === 0) throw new AttemptFailure('session_ended')
    const summary = `${viewer.displayName} confirmed their identity through ${label}`
    audit(inner, { kind: 'identity.confirmed', actor: viewer, user: viewer, summary, ip })
  })
}

export type TestResult = {
  provider: string
  claims: string
  groups: string[]
  hasTooManyGroups: boolean
  role: Mapping['role'] | null
  memberships: { publisher: string; role: string }[]
}

/** Keeps the claims of a test for its administrator until the attempt would have expired. Changes nothing else. */
async function showTest(
  { em, keys, credential, now, config }: SignedInContext,
  { provider, claims, groups, mapping, attempt }: Verified,
): Promise<string> {
  const result: TestResult = {
    provider: provider.name,
    claims: JSON.stringify(claims, null, 2),
    groups: groups?.names ?? [],
    hasTooManyGroups: groups?.isIncomplete ?? false,
    role: mapping && highestRole([config.OIDC_DEFAULT_ROLE, mapping.role]),
    memberships: [...(mapping?.memberships ?? [])].map(([publisher, role]) => ({ publisher, role })),
  }
  const id = randomText(32)
  em.create(OidcAttempt, {
    stateHash: sha256(id),
    browserHash: sha256(id),
    provider: provider.name,
    purpose: 'result',
    session: em.getReference(Session, credential.id),
    sealed: seal(keys, JSON.stringify(result)),
    createdAt: now(),
    expiresAt: new Date(now().getTime() + 10 * 60_000),
  })
  await em.flush()
  return withQuery(attempt.returnTo, { test: id, provider: provider.name })
}

/** Returns the result of a test of this session, or null. */
export async function readTest({ em, keys, credential, now }: SignedInContext, id: string): Promise<TestResult | null> {
  const row = await em.findOne(OidcAttempt, { stateHash: sha256(id), purpose: 'result', session: credential.id, expiresAt: { $gt: now() } })
  const text = row && unseal(keys, row.sealed)
  return text === null ? null : (JSON.parse(text) as TestResult)
}
