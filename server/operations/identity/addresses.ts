import type { EntityManager } from '@mikro-orm/sql'
import { operator } from '../../accounts/audit/entity.ts'
import { audit } from '../../accounts/audit/service.ts'
import type { Config } from '../../platform/config/config.ts'
import { conflict, invalidInput, notFound } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { scheduleReindex } from '../../registry/search/rebuild.ts'
import { db } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import { markVisibilityChange } from '../../registry/packages/visibility.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
import { ServerAddress } from '../../registry/packages/entity.ts'

/**
 * Records the address that the server starts with. If it is new, dependencies on that address, which counted as another server's until now, count as
 * dependencies on this server. The search index is updated in the background.
 */
export async function rememberAddress({ config, database, now }: Pick<Services, 'config' | 'database' | 'now'>): Promise<void> {
  const address = hostedHere(config)
  await database.fork().transactional(async (em) => {
    const others = await em.count(ServerAddress, { address: { $ne: address } })
    const isKnown = await em.nativeUpdate(ServerAddress, { address }, { lastUsedAt: now() })
    if (isKnown) return
    await em.upsert(ServerAddress, { address, firstUsedAt: now(), lastUsedAt: now() })
    if (others > 0) await applyToAll(em, address)
  })
}

/** Lists the addresses that count as this server, most recently used first. */
export const listAddresses = (em: EntityManager): Promise<ServerAddress[]> =>
  em.find(ServerAddress, {}, { orderBy: { lastUsedAt: 'desc', address: 'asc' } })

/**
 * Adds a former address of the server.
 * @throws ApiError InvalidInput for an invalid URL; Conflict when the address is already known.
 */
export async function addAddress(em: EntityManager, url: string, now: Date): Promise<string> {
  const address = normalHostedUrl(url)
  if (address === null) throw invalidInput(`${url} is not a valid server address. Use the form https://pub.example.com.`)
  if (await em.count(ServerAddress, { address })) throw conflict(`${address} is already known.`)
  await em.transactional(async (inner) => {
    await inner.insert(ServerAddress, { address, firstUsedAt: now, lastUsedAt: now })
    await applyToAll(inner, address)
    recordByOperator(inner, `added ${address} to the addresses of this server`)
  })
  return address
}

/**
 * Removes a former address. Dependencies on it then count as dependencies on another server.
 * @throws ApiError NotFound; Conflict for the current address.
 */
export async function forgetAddress(em: EntityManager, config: Pick<Config, 'SERVER_URL'>, url: string): Promise<string> {
  const address = normalHostedUrl(url) ?? url
  if (address === hostedHere(config))
    throw conflict(`${address} is the current address of the server (SERVER_URL). Change SERVER_URL first.`)
  await em.transactional(async (inner) => {
    if (!(await inner.nativeDelete(ServerAddress, { address }))) throw notFound(`${address} is not among the addresses of this server.`)
    await applyToAll(inner, address)
    recordByOperator(inner, `removed ${address} from the addresses of this server`)
  })
  return address
}

const recordByOperator = (em: EntityManager, done: string): void =>
  audit(em, { kind: 'server.settings_updated', actor: null, summary: `${operator} ${done}, on the command line` })

/** Invalidates caches and the search index if any dependency refers to this address. */
async function applyToAll(em: EntityManager, address: string): Promise<void> {
  const named = db.selectFrom('package_dependencies').select('version_id').where('hosted_url', '=', address).limit(1)
  if (!(await readRow(em, named))) return
  await markVisibilityChange(em)
  await scheduleReindex(em)
}
