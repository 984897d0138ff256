import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../server/platform/config/config.ts'
import { openLog } from '../../server/platform/http/log.ts'
import { openServices } from '../../server/open-services.ts'
import { collectArchives } from '../../server/platform/store/collect.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import type { FaultRegistry } from './fault-registry.ts'
import type { FaultRow } from './fault-table.ts'
import { secretForTests } from './server-process.ts'

type Listing = { latest: { version: string }; versions: { version: string; archive_sha256: string; archive_url: string }[] }

/**
 * Checks every acknowledged version with this label through all read APIs of the running server, and counts lost, partially visible and duplicate
 * versions.
 */
export async function auditPublished(registry: FaultRegistry, label: string): Promise<Pick<FaultRow, 'lost' | 'halfVisible' | 'doubled'>> {
  const wrong = { lost: 0, halfVisible: 0, doubled: 0 }
  const missing = new Map([...registry.acknowledged].filter(([key]) => key.startsWith(`${label}_`)))
  const names = [...new Set([...missing.keys()].map((key) => key.split(' ')[0] ?? ''))]
  for (const name of names) {
    const listing = JSON.parse((await registry.read(`/api/packages/${name}`)).bytes.toString()) as Listing
    wrong.doubled += listing.versions.length - new Set(listing.versions.map(({ version }) => version)).size
    for (const { version, archive_sha256: sha256, archive_url: url } of listing.versions) {
      const archive = await registry.read(url.slice(registry.url.length))
      const arrived = createHash('sha256').update(archive.bytes).digest('hex')
      const single = await registry.read(`/api/packages/${name}/versions/${version}`)
      if (archive.status !== 200 || arrived !== sha256 || single.status !== 200) wrong.halfVisible++
      if (missing.get(`${name} ${version}`) === arrived) missing.delete(`${name} ${version}`)
    }
    if (!(await isFound(registry, name, listing.latest.version))) wrong.halfVisible++
  }
  return { ...wrong, lost: missing.size }
}

/** Reports whether search returns the package with the latest version of its listing. */
async function isFound(registry: FaultRegistry, name: string, latest: string): Promise<boolean> {
  const query = `{ searchPackages(query: "${name}", first: 100) { nodes { name latest { version } } } }`
  const data = await registry.query<{ searchPackages: { nodes: { name: string; latest: { version: string } }[] } }>(query)
  return data.searchPackages.nodes.some((node) => node.name === name && node.latest.version === latest)
}

const dayMs = 86_400_000

/**
 * Counts orphaned files and unfinished uploads of a stopped server after garbage collection, and versions that were recorded more than once in the
 * audit log. Collection runs with a clock set ahead, so that all grace periods are over.
 */
export async function auditLeftovers(registry: FaultRegistry): Promise<Pick<FaultRow, 'leftOver' | 'doubled'>> {
  const config = readConfig({ JWT_SECRET: secretForTests, DATA_DIR: registry.folder, ...registry.env })
  let ahead = 2 * dayMs
  const services = await openServices(
    config,
    openLog('error', () => {}),
    { now: () => new Date(Date.now() + ahead) },
  )
  const { reads } = services.database
  const count = async (sql: string) => Number((await reads.get<{ n: number | string }>(sql))?.n)
  // Collection is confirmed, because kills may leave more bytes than are removed without an administrator's confirmation.
  const collect = async () => {
    const circumstances = { em: services.database.fork(), blobs: services.blobs, now: services.now, say: () => {} }
    await collectArchives(circumstances, { confirmed: true })
    await collectGarbage(services)
  }
  try {
    await collect()
    ahead = 10 * dayMs // past the week for which removed blobs are kept
    await collect()
    const files = readdirSync(join(registry.folder, 'blobs'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const bytes = files.filter(({ name, parentPath }) => /^[0-9a-f]{64}/.test(name) || parentPath.endsWith('staging')).length
    const archives = await count('select count(distinct archive_sha256) as n from package_versions')
    const announced = await count('select count(*) as n from uploads')
    const recorded = `select package, version from audit_entries where kind = 'package.version_published' group by package, version having count(*) > 1`
    return { leftOver: bytes - archives + announced, doubled: await count(`select count(*) as n from (${recorded}) twice`) }
  } finally {
    await services.database.close()
  }
}
