import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Config } from '../config/config.ts'
import { conflict, invalidInput, notFound } from '../errors.ts'
import type { Services } from '../services.ts'
import { renewIndex } from '../search/rebuild.ts'
import { normalHostedUrl } from '../pub/hosted-url.ts'
import { markVisibilityChange } from '../packages/visibility/mark.ts'
import { hostedHere } from '../packages/hosting/hosted-here.ts'
import { ServerAddress } from '../packages/hosting/address-entity.ts'

/**
 * Remembers the address that the server starts under. When it is a new one, dependencies that named it, as somebody else's so far, are on this
 * server from now on: the index learns that in the background.
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

/** All addresses that count as this server's, the one used last first. */
export const listAddresses = (em: EntityManager): Promise<ServerAddress[]> =>
  em.find(ServerAddress, {}, { orderBy: { lastUsedAt: 'desc', address: 'asc' } })

/**
 * Remembers an address that the server had before it remembered addresses by itself.
 * @throws ApiError InvalidInput when it is no address of a registry; Conflict when it is known already.
 */
export async function addAddress(em: EntityManager, url: string, now: Date): Promise<string> {
  const address = normalHostedUrl(url)
  if (address === null) throw invalidInput(`${url} is not an address that packages can be hosted at. Write it as https://pub.example.com.`)
  if (await em.count(ServerAddress, { address })) throw conflict(`${address} is remembered already.`)
  await em.transactional(async (inner) => {
    await inner.insert(ServerAddress, { address, firstUsedAt: now, lastUsedAt: now })
    await applyToAll(inner, address)
    recordByOperator(inner, `added ${address} to the addresses of this server`)
  })
  return address
}

/**
 * Forgets a former address: what names it is on another server from then on.
 * @throws ApiError NotFound; Conflict for the address that the server has now.
 */
export async function forgetAddress(em: EntityManager, config: Pick<Config, 'SERVER_URL'>, url: string): Promise<string> {
  const address = normalHostedUrl(url) ?? url
  if (address === hostedHere(config)) throw conflict(`${address} is the address that the server has now (SERVER_URL). Change that first.`)
  await em.transactional(async (inner) => {
    if (!(await inner.nativeDelete(ServerAddress, { address }))) throw notFound(`${address} is not among the addresses of this server.`)
    await applyToAll(inner, address)
    recordByOperator(inner, `took ${address} from the addresses of this server`)
  })
  return address
}

const recordByOperator = (em: EntityManager, done: string): void =>
  audit(em, { kind: 'server.settings_updated', actor: null, summary: `The operator ${done}, on the command line` })

/** Tells caches and index that dependencies which name this address are on another server than before, if there are any. */
async function applyToAll(em: EntityManager, address: string): Promise<void> {
  const named = await em.execute<object[]>('select 1 from package_dependencies where hosted_url = ? limit 1', [address])
  if (named.length === 0) return
  await markVisibilityChange(em)
  await renewIndex(em)
}
