import { Resolver } from 'node:dns/promises'

/** Error codes that confirm that the record does not exist: NXDOMAIN, and a name without TXT records. */
const absent = new Set(['ENOTFOUND', 'ENODATA'])

/** Thrown when the resolvers give no reliable answer. */
export class ResolversFailed extends Error {}

/**
 * Returns the TXT records of a host, each with its strings concatenated (RFC 7208, section 3.3), or an empty list. Queries only the configured
 * resolvers and only TXT records; never resolves or connects to an address. Times out after `withinMs` milliseconds.
 * @throws ResolversFailed if the resolvers fail, refuse or time out.
 */
export async function lookUpTxt(host: string, servers: readonly string[], withinMs = 5000): Promise<string[]> {
  const resolver = new Resolver({ timeout: Math.ceil(withinMs / 3), tries: 2 })
  if (servers.length) resolver.setServers(servers)
  const giveUp = setTimeout(() => resolver.cancel(), withinMs)
  try {
    return (await resolver.resolveTxt(host)).map((strings) => strings.join(''))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (absent.has(code)) return []
    throw new ResolversFailed(`TXT ${host}: ${code}`, { cause: error })
  } finally {
    clearTimeout(giveUp)
  }
}
