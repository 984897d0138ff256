import type { Config } from '../../../platform/config/config.ts'
import type { Reads } from '../../../platform/db/reads.ts'
import { normalHostedUrl } from '../../../platform/pub/hosted-url.ts'

/** A package of this server whose latest version depends on an upstream package. */
export type UpstreamDependent = { packageId: string; name: string; version: string; constraint: string; kind: 'direct' | 'dev' }

type Wanted = { name: string; limit: number; after?: string | undefined; offset?: number | null | undefined }
type Addresses = Pick<Config, 'SERVER_URL' | 'UPSTREAM_URL'>

/**
 * Returns the packages whose latest version depends on an upstream package: without a registry URL, or with that of the mirror or of the upstream
 * server. Each once, ordered by name; direct dependencies take precedence over dev dependencies.
 */
export async function listUsers(
  reads: Reads,
  config: Addresses,
  { name, limit, after = '', offset }: Wanted,
): Promise<UpstreamDependent[]> {
  return reads.all<UpstreamDependent>(
    `select p.id as "packageId", p.name, v.version, d."constraint", d.kind ${fromUsers} and p.name > ? order by p.name limit ? offset ?`,
    ...parameters(config, name),
    after,
    limit,
    offset ?? 0,
  )
}

export async function countUsers(reads: Reads, config: Addresses, name: string): Promise<number> {
  const row = await reads.get<{ total: string | number }>(`select count(*) as total ${fromUsers}`, ...parameters(config, name))
  return Number(row?.total ?? 0)
}

const isUpstream = (alias: string) => `${alias}.sdk is null and (${alias}.hosted_url is null or ${alias}.hosted_url in (?, ?))`

const fromUsers = `from package_dependencies d
  join package_versions v on v.id = d.version_id
  join packages p on p.id = v.package_id and p.latest_version = v.version
  where d.name = ? and ${isUpstream('d')} and (d.kind = 'direct' or not exists (
    select 1 from package_dependencies o where o.version_id = d.version_id and o.kind = 'direct' and o.name = d.name and ${isUpstream('o')}))`

function parameters({ SERVER_URL, UPSTREAM_URL }: Addresses, name: string): string[] {
  const urls = [`${SERVER_URL}/mirror`, UPSTREAM_URL ?? ''].map((url) => normalHostedUrl(url) ?? url)
  return [name, ...urls, ...urls]
}
