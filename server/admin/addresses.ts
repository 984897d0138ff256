import { addAddress, forgetAddress, listAddresses } from '../addresses/service.ts'
import type { Operation, Outcome } from './command.ts'

/** The addresses that count as this server, a line each, the one used last first. */
export async function listServerAddresses({ em }: Operation): Promise<Outcome> {
  const addresses = (await listAddresses(em)).map(({ address, lastUsedAt }) => ({ address, lastUsedAt: lastUsedAt.toISOString() }))
  return { text: addresses.map(({ address, lastUsedAt }) => `${address} (last used ${lastUsedAt})`).join('\n'), data: { addresses } }
}

/**
 * Remembers an address that the server had before.
 * @returns what to tell the operator.
 * @throws ApiError InvalidInput when it is no address; Conflict when it is known already.
 */
export async function rememberServerAddress({ em }: Operation, url: string): Promise<string> {
  return `${await addAddress(em, url, new Date())} counts as this server. ${searchLater}`
}

/**
 * Forgets a former address of the server.
 * @returns what to tell the operator.
 * @throws ApiError NotFound; Conflict for the current one.
 */
export async function forgetServerAddress({ em, config }: Operation, url: string): Promise<string> {
  return `${await forgetAddress(em, config, url)} does not count as this server any more. ${searchLater}`
}

const searchLater = 'Search follows when the server starts next.'
