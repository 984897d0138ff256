import type { Config } from '../../config/config.ts'
import { normalHostedUrl } from '../../pub/hosted-url.ts'

/** What tells where this server is. */
export type Here = Pick<Config, 'SERVER_URL'>

/** This server's address as dependencies name it. */
export const hostedHere = ({ SERVER_URL }: Here): string => normalHostedUrl(SERVER_URL) ?? SERVER_URL

/**
 * SQL: whether the registry in this column is this server, at its address now (the parameter, `hostedHere`) or at one that it had before.
 * A package keeps the addresses that its pubspec named when it was published.
 */
export const isHostedHere = (column: string): string =>
  `${column} in (select cast(? as text) union all select address from server_addresses)`
