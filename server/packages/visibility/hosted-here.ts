/**
 * SQL: whether the registry in this column is this server, at its address now (the parameter, `hostedHere`) or at one that it had before.
 * A package keeps the addresses that its pubspec named when it was published.
 */
export const isHostedHere = (column: string): string =>
  `${column} in (select cast(? as text) union all select address from server_addresses)`
