import type { EntityManager } from '@mikro-orm/sql'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { conflict, invalidInput, notFound } from '../../errors.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { defaultScopes, isProviderName, type OidcSettings } from '../../platform/config/oidc-variables.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import { seal, unseal } from '../../platform/http/sealed.ts'
import type { Services } from '../../services.ts'
import { audit } from '../audit/service.ts'
import { LinkedIdentity, OidcProvider, OidcProviderState } from './entity.ts'
import { deleteGroupRules } from './groups.ts'

/** A provider, from the environment or added by an administrator. */
export type Provider = OidcSettings & {
  isFromEnvironment: boolean
  /** Whether the stored secret cannot be decrypted, because JWT_SECRET was changed without JWT_SECRET_PREVIOUS. */
  hasUnreadableSecret: boolean
}

type Reader = Pick<Context, 'config' | 'em' | 'keys'>

/** Reads the stored providers once for all fields of a request that need them. */
const loadStored = batched(async (em, [all = '']) => {
  const columns = ['name', 'label', 'issuer', 'client_id', 'client_secret', 'scopes', 'groups_claim', 'trusts_second_factor'] as const
  return new Map([[all, await readRows(em, db.selectFrom('oidc_providers').select(columns))]])
})

/** Returns all providers, sorted by label. One of the environment hides a stored one with the same name. */
export async function listProviders({ config, em, keys }: Reader): Promise<Provider[]> {
  const configured = config.oidcProviders.map((one): Provider => ({ ...one, isFromEnvironment: true, hasUnreadableSecret: false }))
  const names = new Set(configured.map(({ name }) => name))
  const stored = ((await loadStored({ em }, 'all')) ?? []).filter(({ name }) => !names.has(name))
  const added = stored.map(({ name, label, issuer, scopes, client_secret: sealed, ...row }): Provider => {
    const clientSecret = sealed === null ? null : unseal(keys, sealed)
    const hasUnreadableSecret = sealed !== null && clientSecret === null
    const { client_id: clientId, groups_claim: groupsClaim, trusts_second_factor: trustsSecondFactor } = row
    const settings = { name, label, issuer, scopes, clientId, clientSecret, groupsClaim, trustsSecondFactor }
    return { ...settings, hasUnreadableSecret, isFromEnvironment: false }
  })
  return [...configured, ...added].toSorted((one, other) => one.label.localeCompare(other.label, 'en') || (one.name < other.name ? -1 : 1))
}

/** Returns the provider with this name, or null. */
export const findProvider = async (reader: Reader, name: string): Promise<Provider | null> =>
  (await listProviders(reader)).find((one) => one.name === name) ?? null

/** @throws ApiError NotFound. */
export async function requireProvider(reader: Reader, name: string): Promise<Provider> {
  const provider = await findProvider(reader, name)
  if (!provider) throw unknownProvider()
  return provider
}

export const unknownProvider = () => notFound('There is no sign-in provider with this name.')

export type ProviderChange = Partial<Omit<OidcSettings, 'name'>>
export type NewProvider = Pick<OidcSettings, 'name' | 'issuer' | 'clientId'> & Partial<OidcSettings>

/**
 * Adds a provider. Requires a recent proof, because a provider decides who signs in.
 * @throws ApiError InvalidInput for the name; Conflict when it is taken; InsufficientPermissions for a session without a recent proof.
 */
export async function createProvider(context: SignedInContext, input: NewProvider): Promise<Provider> {
  const { em, keys, config, viewer, ip, now } = context
  requireRecentProof(context)
  if (!isProviderName(input.name))
    throw invalidInput('name: must have at most 32 lower-case letters, digits and single underscores.', 'name')
  if (config.oidcProviders.some(({ name }) => name === input.name)) throw nameTaken()
  const {
    name,
    label = name,
    issuer,
    clientId,
    scopes = defaultScopes,
    groupsClaim = null,
    clientSecret,
    trustsSecondFactor = false,
  } = input
  const sealed = clientSecret ? seal(keys, clientSecret) : null
  const row = { name, label, issuer, clientId, scopes, groupsClaim, trustsSecondFactor, clientSecret: sealed }
  try {
    await em.fork().transactional(async (inner) => {
      // A provider of the environment that had this name may have left them.
      await forgetGroups(inner, name)
      inner.create(OidcProvider, { ...row, createdAt: now() })
      const summary = `${viewer.displayName} added the sign-in provider ${name} (${issuer})`
      audit(inner, { kind: 'provider.created', actor: viewer, summary, ip })
    })
  } catch (error) {
    throw error instanceof UniqueConstraintViolationException ? nameTaken() : error
  }
  return requireProvider(context, name)
}

const nameTaken = () => conflict('A sign-in provider with this name already exists.')

/**
 * Changes a provider. Omitted members stay unchanged; a null secret or groups claim removes it.
 * @throws ApiError NotFound; Conflict for a provider of the environment; InvalidInput for another issuer without its secret;
 * InsufficientPermissions for a session without a recent proof.
 */
export async function updateProvider(context: SignedInContext, name: string, change: ProviderChange): Promise<Provider> {
  const { keys, viewer, ip } = context
  await changeStored(context, name, async (em) => {
    const { clientSecret, ...others } = change
    const secret = clientSecret === undefined ? {} : { clientSecret: clientSecret === null ? null : seal(keys, clientSecret) }
    const columns = { ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)), ...secret }
    if (Object.keys(columns).length === 0) return
    if (change.issuer !== undefined && clientSecret === undefined) await requireSameIssuer(em, name, change.issuer)
    if ((await em.nativeUpdate(OidcProvider, { name }, columns)) === 0) throw unknownProvider()
    const summary = `${viewer.displayName} changed the sign-in provider ${name}: ${Object.keys(columns).join(', ')}`
    audit(em, { kind: 'provider.updated', actor: viewer, summary, ip })
  })
  return requireProvider(context, name)
}

/** Rejects another issuer for a stored secret: the new issuer would receive the secret of the former one. */
async function requireSameIssuer(em: EntityManager, name: string, issuer: string): Promise<void> {
  const stored = await em.findOne(OidcProvider, { name })
  if (stored?.clientSecret && stored.issuer !== issuer)
    throw invalidInput('clientSecret: must be sent along with another issuer, or null to remove it.', 'clientSecret')
}

/**
 * Deletes a provider. Identities stay linked, so that they work again if the provider is added again.
 * @throws ApiError as `updateProvider`.
 */
export async function deleteProvider(context: SignedInContext, name: string): Promise<void> {
  const { viewer, ip } = context
  await changeStored(context, name, async (em) => {
    if ((await em.nativeDelete(OidcProvider, { name })) === 0) throw unknownProvider()
    await em.nativeDelete(OidcProviderState, { name })
    await forgetGroups(em, name)
    audit(em, { kind: 'provider.deleted', actor: viewer, summary: `${viewer.displayName} deleted the sign-in provider ${name}`, ip })
  })
}

/** Deletes the rules of a provider, and what its groups gave. That is taken from users at their next sign-in through another provider. */
async function forgetGroups(em: EntityManager, name: string): Promise<void> {
  await deleteGroupRules(em, name)
  await em.nativeUpdate(LinkedIdentity, { grantedBy: name }, { grantedBy: null, grants: null })
}

async function changeStored(context: SignedInContext, name: string, change: (em: EntityManager) => Promise<void>): Promise<void> {
  requireRecentProof(context)
  if (context.config.oidcProviders.some((one) => one.name === name))
    throw conflict('This sign-in provider is configured by environment variables. Change it there.')
  await context.em.fork().transactional(change)
}

/** Records that an attempt through a provider succeeded, or why it failed. */
export async function recordOutcome({ em, now, log }: Context, name: string, error: string | null): Promise<void> {
  if (error !== null) log.warning(`Sign-in provider ${name}: ${error}`)
  const outcome = error === null ? { lastSuccessAt: now() } : { lastErrorAt: now(), lastError: error.slice(0, 500) }
  await em
    .fork()
    .upsert(OidcProviderState, { name, ...outcome }, { onConflictFields: ['name'], onConflictMergeFields: Object.keys(outcome) as never })
}

/** Returns the last failure of each provider that has not succeeded since, by name. */
export async function readFailures({ database }: Pick<Services, 'database'>): Promise<Map<string, { at: Date; reason: string }>> {
  const rows = await database.reads.all(
    db.selectFrom('oidc_provider_states').select(['name', 'last_success_at', 'last_error_at', 'last_error']),
  )
  return new Map(
    rows.flatMap(({ name, last_success_at: successAt, last_error_at: at, last_error: reason }) =>
      at && !(successAt && successAt >= at) ? [[name, { at, reason: reason ?? '' }] as const] : [],
    ),
  )
}

/** Loads the latest success and failure of providers. */
export const loadState = batched(async (em: EntityManager, names: string[]) => {
  const states = await em.find(OidcProviderState, { name: { $in: names } }, { refresh: true })
  return new Map(states.map((state) => [state.name, state]))
})
