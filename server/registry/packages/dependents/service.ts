import { type Here, hostedHere, isHostedHere } from '../hosting.ts'
import type { Reads } from '../../../platform/db/reads.ts'

/** A package whose latest version depends on another one here. `isBare`: without a registry URL, so clients use their default registry. */
export type Dependent = { packageId: string; name: string; version: string; constraint: string; kind: 'direct' | 'dev'; isBare: boolean }

type Wanted = { name: string; limit: number; after?: string | undefined; offset?: number | null | undefined }

/**
 * Returns the packages whose latest version depends on this one by `hosted:` or without a registry URL, once each, ordered by name. Direct
 * dependencies take precedence over dev dependencies. `after` is the last name of the previous page.
 */
export async function listDependents(reads: Reads, here: Here, { name, limit, after = '', offset }: Wanted): Promise<Dependent[]> {
  const rows = await reads.all<Omit<Dependent, 'isBare'> & { isBare: boolean | number }>(
    `select p.id as "packageId", p.name, v.version, d."constraint", d.kind, d.hosted_url is null as "isBare" ${fromDependents} and p.name > ? order by p.name limit ? offset ?`,
    name,
    hostedHere(here),
    after,
    limit,
    offset ?? 0,
  )
  return rows.map((row) => ({ ...row, isBare: Boolean(row.isBare) }))
}

export async function countDependents(reads: Reads, here: Here, name: string): Promise<number> {
  const row = await reads.get<{ total: string | number }>(`select count(*) as total ${fromDependents}`, name, hostedHere(here))
  return Number(row?.total ?? 0)
}

const fromDependents = `from package_dependencies d
  join package_versions v on v.id = d.version_id
  join packages p on p.id = v.package_id and p.latest_version = v.version
  where d.name = ? and d.sdk is null and (${isHostedHere('d.hosted_url')} or d.hosted_url is null) and (d.kind = 'direct' or not exists (
    select 1 from package_dependencies o
    where o.version_id = d.version_id and o.kind = 'direct' and o.name = d.name and o.sdk is null and (
      o.hosted_url is null or o.hosted_url = d.hosted_url or o.hosted_url in (select address from server_addresses))))`
