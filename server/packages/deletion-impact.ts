import type { EntityManager } from '@mikro-orm/sql'
import { isHostedHere } from '../addresses/hosted-here.ts'
import { normalHostedUrl } from '../uploads/hosted-url.ts'
import { allows, parseConstraint } from './constraint.ts'
import type { Dependent } from './dependents.ts'
import type { Visibility } from './entity.ts'

/** A package that depends on what is to be deleted, whoever may read it. `isBroken`: nothing that stays would serve it. */
export type AffectedDependent = Dependent & { visibility: Visibility; isBroken: boolean }

/**
 * Everybody who depends on a package, or on one version of it: each package once, by name, as its latest version states it, else as the
 * highest version that does. For a version only those count whose constraint admits it. Bare dependencies count, too: clients that have
 * this server as their default registry look for them here. Two statements, however many there are.
 */
export async function affectedByDeletion(
  em: EntityManager,
  serverUrl: string,
  name: string,
  version?: string | null,
): Promise<AffectedDependent[]> {
  const rows = await em.execute<Row[]>(statement, [name, normalHostedUrl(serverUrl), name])
  const dependents = rows.map(({ isBare, ...row }) => ({ ...row, isBare: Boolean(isBare) }))
  if (version == null) return dependents.map((dependent) => ({ ...dependent, isBroken: true }))
  const others = await em.execute<{ version: string }[]>(
    `select v.version from package_versions v join packages p on p.id = v.package_id
     where p.name = ? and v.version <> ? and v.retracted_at is null`,
    [name, version],
  )
  return dependents.flatMap((dependent) => {
    const constraint = parseConstraint(dependent.constraint)
    if (!constraint || !allows(constraint, version)) return []
    return { ...dependent, isBroken: !others.some((other) => allows(constraint, other.version)) }
  })
}

type Row = Omit<AffectedDependent, 'isBare' | 'isBroken'> & { isBare: boolean | number }

const statement = `select "packageId", name, version, "constraint", kind, visibility, "isBare" from (
    select p.id as "packageId", p.name, p.visibility, v.version, d."constraint", d.kind, d.hosted_url is null as "isBare",
      row_number() over (partition by p.id order by
        case when v.version = p.latest_version then 0 else 1 end, v.sort_key desc, case when d.kind = 'direct' then 0 else 1 end) as rank
    from package_dependencies d join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
    where d.name = ? and d.sdk is null and (${isHostedHere('d.hosted_url')} or d.hosted_url is null) and p.name <> ?
  ) stated where rank = 1 order by name`
