import { Resolver } from 'node:dns/promises'

/** Answers that say for sure that there is no such record: NXDOMAIN, and a name without TXT records. */
const absent = new Set(['ENOTFOUND', 'ENODATA'])

/** The resolvers gave no answer that can be relied upon. */
export class ResolversFailed extends Error {}

/**
 * The TXT records of exactly this name, each with its strings put together (RFC 7208 §3.3); none when there are none. Only the configured
 * resolvers are queried, and only for TXT: no address is ever looked up or connected to. Takes at most `withinMs`.
 * @throws ResolversFailed when they fail, refuse or do not answer in time.
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
