import type { Config } from '../../platform/config/config.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../platform/db/batched.ts'
import { db, prepared } from '../../platform/db/query.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { ServerAddress } from './entity.ts'

/** Configuration that determines this server's address. */
export type Here = Pick<Config, 'SERVER_URL'>

/** Returns this server's normalized address, as it appears in hosted dependencies. */
export const hostedHere = ({ SERVER_URL }: Here): string => normalHostedUrl(SERVER_URL) ?? SERVER_URL

/** Returns an SQL condition: the registry URL in `column` is the current address (bound, see `hostedHere`) or a former one. */
export const isHostedHere = (column: string): string =>
  `${column} in (select cast(? as text) union all select address from server_addresses)`

/** Returns the former addresses of this server. */
export async function formerAddresses(reads: Reads, config: Pick<Config, 'SERVER_URL'>): Promise<string[]> {
  const rows = await reads.all(otherAddresses, hostedHere(config))
  return rows.map(({ address }) => address)
}

const otherAddresses = prepared((here: string) => db.selectFrom('server_addresses').select('address').where('address', '<>', here))

/** Whether a registry URL from a pubspec is a current or former address of this server. */
export async function isThisServer(request: { em: EntityManager; config: Config }, url: string | null): Promise<boolean> {
  const normal = url === null ? null : normalHostedUrl(url)
  if (normal === null) return false
  return normal === hostedHere(request.config) || (await loadIsFormerAddress(request, normal)) !== null
}

const loadIsFormerAddress = batched(async (em, urls) => {
  const known = await em.find(ServerAddress, { address: { $in: urls } }, { disableIdentityMap: true })
  return new Map(known.map(({ address }) => [address, true]))
})
