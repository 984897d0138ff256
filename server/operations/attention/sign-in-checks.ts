import { countAdminsWithoutFactor, countVoidPasskeys } from '../../accounts/factors/factors.ts'
import { listProviders, readFailures } from '../../accounts/providers/providers.ts'
import { AccessToken } from '../../accounts/tokens/entity.ts'
import { countEndlessTokens } from '../../accounts/tokens/service.ts'
import { db } from '../../platform/db/query.ts'
import { areExpired } from '../../registry/trusted-publishing/keys.ts'
import { type AttentionCheck, countOf, itemsIfAny, item, plural, type Watched } from './items.ts'

const [expiringDays, dayMs] = [14, 86_400_000]

export const checkTokens: AttentionCheck = async ({ database, now }) => {
  const [from, before] = [now(), new Date(now().getTime() + expiringDays * dayMs)]
  const where = { revokedAt: null, scopes: { $like: '%admin%' }, expiresAt: { $gte: from, $lt: before } }
  const em = database.fork()
  const [soonest] = await em.find(AccessToken, where, { fields: ['expiresAt'], orderBy: { expiresAt: 'asc' }, limit: 1 })
  if (!soonest) return []
  const expiring = await em.count(AccessToken, where)
  const text = `${plural(expiring, 'administrator token')} ${expiring === 1 ? 'expires' : 'expire'} within ${expiringDays} days. Scripts that use ${expiring === 1 ? 'it' : 'them'} stop working then.`
  return itemsIfAny(expiring, { kind: 'tokens_expiring', severity: 'warning', at: soonest.expiresAt ?? null, text })
}

/** Reports tokens that never expire: a recommendation, unless new tokens must expire. */
export const checkEndlessTokens: AttentionCheck = async ({ config, database }) => {
  const rows = await database.reads.all(countEndlessTokens())
  const total = rows.reduce((sum, row) => sum + row.total, 0)
  const services = rows.find(({ kind }) => kind === 'service')?.total ?? 0
  const max = config.TOKEN_MAX_DAYS
  const whose = services > 0 ? `, ${services} of them of service accounts` : ''
  const rule = max === undefined ? '' : ` TOKEN_MAX_DAYS=${max} applies to new tokens only: rotate or revoke older ones.`
  const text = `${plural(total, 'access token')} never ${total === 1 ? 'expires' : 'expire'}${whose}.${rule}`
  return itemsIfAny(total, { kind: 'tokens_never_expire', severity: max === undefined ? 'info' : 'warning', text })
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

const listProvidersOf = (watched: Watched) => listProviders({ ...watched, em: watched.database.fork() })

/** Reports sign-in providers whose last use failed through their fault. Secrets that cannot be decrypted are reported by `checkSecrets`. */
export const checkProviders: AttentionCheck = async (watched) => {
  const [providers, failures] = await Promise.all([listProvidersOf(watched), readFailures(watched)])
  const severity = watched.config.PASSWORD_SIGN_IN === 'owner' ? 'error' : 'warning'
  return providers.flatMap(({ name, label, hasUnreadableSecret }) => {
    const failure = failures.get(name)
    if (!failure || hasUnreadableSecret) return []
    const text = `Sign-in through ${label} failed. ${sentence(failure.reason)}`
    return [item({ kind: 'provider_failing', severity, at: failure.at, text })]
  })
}

/** Reports CI systems whose keys could not be fetched: a warning while older keys are used, an error once these are too old. */
export const checkIssuerKeys: AttentionCheck = async ({ database, now }) => {
  const rows = await database.reads.all(
    db
      .selectFrom('token_issuers')
      .select(['name', 'keys_fetched_at', 'keys_tried_at', 'key_problem'])
      .where('key_problem', 'is not', null)
      .orderBy('name'),
  )
  return rows.map(({ name, keys_fetched_at: keysFetchedAt, keys_tried_at: at, key_problem: problem }) => {
    const isTooOld = areExpired({ keysFetchedAt }, now())
    const effect = isTooOld ? 'Its jobs are refused' : 'Its jobs are checked with older keys, for up to a day'
    const text = `The keys of ${name} could not be fetched: ${sentence(problem ?? '')} ${effect}.`
    return item({ kind: 'issuer_keys_stale', severity: isTooOld ? 'error' : 'warning', at, text })
  })
}

/** Tolerated difference of clocks, as in the checks of tokens. */
export const toleratedMs = 60_000

/** Reports differences from the clocks of sign-in providers and CI systems, as this instance measured them within a day. */
export const checkIssuerClocks: AttentionCheck = async (watched) => {
  const { state, database, now } = watched
  const since = now().getTime() - dayMs
  const differing = [...(state.issuerClocks ?? [])].filter(([, { aheadMs, at }]) => Math.abs(aheadMs) > toleratedMs && at.getTime() > since)
  if (differing.length === 0) return []
  const issuers = await database.reads.all(db.selectFrom('token_issuers').select(['name', 'url']))
  const known = [...issuers, ...(await listProvidersOf(watched)).map(({ label, issuer }) => ({ name: label, url: issuer }))]
  const names = new Map(known.map(({ name, url }) => [new URL(url).href, name]))
  return differing.flatMap(([issuer, { aheadMs, at }]) => {
    const name = names.get(issuer)
    if (name === undefined) return []
    const difference = plural(Math.round(Math.abs(aheadMs) / toleratedMs), 'minute')
    const text = `The clock of this server is ${difference} ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${name}, so sign-ins or jobs may be refused.`
    return [item({ kind: 'issuer_clocks_differ', severity: 'warning', at, text })]
  })
}

/** Reports passkeys that became void because SERVER_URL changed, and administrators without a second factor. */
export const checkFactors: AttentionCheck = async (watched) => {
  const { config } = watched
  const lost = await countOf(watched, countVoidPasskeys(config))
  const lacking = await countOf(watched, countAdminsWithoutFactor(config))
  const isFor = `${plural(lost, 'passkey')} ${lost === 1 ? 'is' : 'are'} for another address than ${config.SERVER_URL}`
  const lostText = `${isFor} and no longer accepted. Their owners sign in another way and add new ones.`
  const isRequired = config.REQUIRE_SECOND_FACTOR !== 'off'
  const why = isRequired ? 'which the server requires' : 'so a stolen password is enough to administer the server'
  const lackingText = `${plural(lacking, 'administrator')} ${lacking === 1 ? 'has' : 'have'} no second factor, ${why}.`
  return [
    ...itemsIfAny(lost, { kind: 'passkeys_void', severity: 'warning', text: lostText }),
    ...itemsIfAny(lacking, { kind: 'second_factors_missing', severity: isRequired ? 'warning' : 'info', text: lackingText }),
  ]
}
