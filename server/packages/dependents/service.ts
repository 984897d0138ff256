import { type Here, hostedHere, isHostedHere } from '../hosting/hosted-here.ts'
import type { Reads } from '../../db/reads/reads.ts'

/**
 * A package whose latest version depends on another one of this server. `isBare`: it names no registry, so that the client asks its default
 * one, where anybody may publish a package of that name.
 */
export type Dependent = { packageId: string; name: string; version: string; constraint: string; kind: 'direct' | 'dev'; isBare: boolean }

type Wanted = { name: string; limit: number; after?: string | undefined; offset?: number | null | undefined }

/**
 * The packages whose latest version depends on this one, by name, each once: who needs it for its users counts before who needs it for its own
 * development. `after` is the name of the last one of the page before. What is declared as `hosted:` on this server counts, and what names no
 * registry at all, which is marked as bare.
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

/** How many there are. */
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
