import type { Config } from '../../../platform/config/config.ts'
import { normalHostedUrl } from '../../../platform/pub/hosted-url.ts'

/** Configuration that determines this server's address. */
export type Here = Pick<Config, 'SERVER_URL'>

/** Returns this server's normalized address, as it appears in hosted dependencies. */
export const hostedHere = ({ SERVER_URL }: Here): string => normalHostedUrl(SERVER_URL) ?? SERVER_URL

/**
 * Returns an SQL condition: the registry URL in `column` is the server's current address (bound as the parameter, see `hostedHere`) or one of its
 * earlier addresses. Published pubspecs keep the address that was valid when they were published.
 */
export const isHostedHere = (column: string): string =>
  `${column} in (select cast(? as text) union all select address from server_addresses)`
