import { addAddress, forgetAddress, listAddresses } from '../../registry/addresses/service.ts'
import type { Operation, Outcome } from './command.ts'

/** Lists the addresses that count as this server, one per line, most recently used first. */
export async function listServerAddresses({ em }: Operation): Promise<Outcome> {
  const addresses = (await listAddresses(em)).map(({ address, lastUsedAt }) => ({ address, lastUsedAt: lastUsedAt.toISOString() }))
  return { text: addresses.map(({ address, lastUsedAt }) => `${address} (last used ${lastUsedAt})`).join('\n'), data: { addresses } }
}

/**
 * Adds a former address of the server.
 * @returns the message for the operator.
 * @throws ApiError InvalidInput for an invalid URL; Conflict when the address is already known.
 */
export async function rememberServerAddress({ em }: Operation, url: string): Promise<string> {
  return `${await addAddress(em, url, new Date())} counts as this server. ${searchLater}`
}

/**
 * Removes a former address of the server.
 * @returns the message for the operator.
 * @throws ApiError NotFound; Conflict for the current address.
 */
export async function forgetServerAddress({ em, config }: Operation, url: string): Promise<string> {
  return `${await forgetAddress(em, config, url)} no longer counts as this server. ${searchLater}`
}

const searchLater = 'The search index is updated at the next start of the server.'
