import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../../../platform/config/config.ts'
import { batched } from '../../../platform/db/batched.ts'
import type { Reads } from '../../../platform/db/reads.ts'
import { normalHostedUrl } from '../../../platform/pub/hosted-url.ts'
import { ServerAddress } from './address-entity.ts'
import { hostedHere } from './hosted-here.ts'

/** Returns the former addresses of this server. */
export async function formerAddresses(reads: Reads, config: Pick<Config, 'SERVER_URL'>): Promise<string[]> {
  const rows = await reads.all<{ address: string }>('select address from server_addresses where address <> ?', hostedHere(config))
  return rows.map(({ address }) => address)
}

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
