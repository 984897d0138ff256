import { acmeRule, githubClaims, TokenIssuer } from '../support/token-issuer.ts'
import { stopServer } from './processes.ts'
import { publishVersions } from './publishing.ts'
import { toRow } from './reading.ts'
import { type Registry, startRegistry } from './registry.ts'
import { measureInterleaved, type Subject } from './rounds.ts'
import type { Row } from './table.ts'

/** Credentials that are compared with a token without limits. `secretFor` returns the bearer token. */
const credentials: { what: string; atLeast: number; secretFor(registry: Registry, issuer: TokenIssuer): Promise<string> }[] = [
  {
    what: 'with a narrowed token',
    atLeast: 0.95,
    secretFor: (registry) =>
      createToken(registry, {
        actions: ['read', 'publish'],
        packages: ['tools', 'acme_*', 'versions_*', 'small_*'],
        addresses: ['10.0.0.0/8', '127.0.0.0/8', '::1'],
      }),
  },
  { what: 'with the token of a CI job', atLeast: 0.9, secretFor: createJobToken },
]

const reads = [
  { what: 'listing of 20 versions', path: '/api/packages/versions_20' },
  { what: 'archive of 50 KB', path: '/api/archives/small_archive-1.0.0.tar.gz' },
]

/** Measures reads with each kind of credential and with a token without limits alternately. */
export async function tokenRows(folder: string, { rounds, seconds }: { rounds: number; seconds: number }): Promise<Row[]> {
  await using issuer = await TokenIssuer.start()
  const registry = await startRegistry(folder, { TOKEN_ISSUER_HOSTS: issuer.host })
  try {
    await publishVersions(registry, 'versions_20', 0, 20)
    await publishVersions(registry, 'small_archive', 0, 1, 48_000)
    const plain = await createToken(registry, {})
    const comparisons = []
    for (const { what: read, path } of reads) {
      const by = (secret: string): Subject => ({
        server: registry,
        path,
        headers: { authorization: `Bearer ${secret}`, 'accept-encoding': 'gzip' },
      })
      const theirs = by(plain)
      for (const { what, atLeast, secretFor } of credentials)
        comparisons.push({ what: `${read} ${what} / a token`, ours: by(await secretFor(registry, issuer)), theirs, atLeast })
    }
    const subjects = [...new Set(comparisons.flatMap(({ ours, theirs }) => [ours, theirs]))]
    const samples = await measureInterleaved(subjects, rounds, seconds)
    return comparisons.map((comparison) => toRow(comparison, samples))
  } finally {
    await stopServer(registry)
  }
}

async function createToken(registry: Registry, limits: object): Promise<string> {
  return (await post<{ secret: string }>(registry, '/api/auth/keys', { name: 'bench', ...limits })).secret
}

/** Returns a token of an issuer on this machine, whose jobs may read and publish. */
async function createJobToken(registry: Registry, issuer: TokenIssuer): Promise<string> {
  const path = `ci-${issuer.tokens}`
  const { id: tokenIssuerId } = await post<{ id: string }>(registry, '/api/token-issuers', {
    name: 'GitHub Actions',
    issuerUrl: issuer.url(path),
    preset: 'GITHUB',
  })
  await post(registry, '/api/packages/versions_20/trusted-publishers', { tokenIssuerId, ...acmeRule })
  const audience = { config: { SERVER_URL: registry.url }, services: { now: () => new Date() } }
  return issuer.token(audience, { ...githubClaims, exp: Math.floor(Date.now() / 1000) + 3600 }, { path })
}

async function post<Answer>({ url, token }: Registry, path: string, body: object): Promise<Answer> {
  const answer = await fetch(url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Answer
}
