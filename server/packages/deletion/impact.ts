import type { EntityManager } from '@mikro-orm/sql'
import { type Here, hostedHere, isHostedHere } from '../hosting/hosted-here.ts'
import { effectOfDeletion } from '../dependents/served.ts'
import type { Dependent } from '../dependents/service.ts'
import type { Visibility } from '../entity.ts'

/** A package that depends on what is to be deleted, whoever may read it. `isBroken`: nothing that stays would serve it. */
export type AffectedDependent = Dependent & { visibility: Visibility; isBroken: boolean }

/**
 * Everybody who depends on a package, or on one version of it, in any of their versions: each package once, by name. For a version only
 * constraints that admit it count, and one that nothing else serves is shown rather than others of the same package. Otherwise the latest
 * version that depends on it speaks for a package, else the highest. Bare dependencies count, too: clients that have this server as their
 * default registry look for them here. Two statements, however many there are.
 */
export async function affectedByDeletion(
  em: EntityManager,
  here: Here,
  name: string,
  version?: string | null,
): Promise<AffectedDependent[]> {
  const rows = await em.execute<Row[]>(statement, [name, hostedHere(here), name])
  const dependents = rows.map(({ isBare, ...row }) => ({ ...row, isBare: Boolean(isBare) }))
  if (version == null) {
    const first = dependents.filter(({ name: one }, at) => dependents[at - 1]?.name !== one)
    return first.map((dependent) => ({ ...dependent, isBroken: true }))
  }
  const effectOn = await effectOfDeletion(em, name, version)
  const affected = new Map<string, AffectedDependent>()
  for (const dependent of dependents) {
    const effect = effectOn(dependent.constraint)
    if (effect === 'none') continue
    const isBroken = effect === 'broken'
    const known = affected.get(dependent.name)
    if (!known || (isBroken && !known.isBroken)) affected.set(dependent.name, { ...dependent, isBroken })
  }
  return [...affected.values()]
}

type Row = Omit<AffectedDependent, 'isBare' | 'isBroken'> & { isBare: boolean | number }

/** Each constraint of each package once, by the name of the package, the latest version's first. */
const statement = `select "packageId", name, version, "constraint", kind, visibility, "isBare" from (
    select p.id as "packageId", p.name, p.visibility, v.version, d."constraint", d.kind, d.hosted_url is null as "isBare",
      case when v.version = p.latest_version then 0 else 1 end as age, v.sort_key,
      case when d.kind = 'direct' then 0 else 1 end as need,
      row_number() over (partition by p.id, d."constraint" order by
        case when v.version = p.latest_version then 0 else 1 end, v.sort_key desc, case when d.kind = 'direct' then 0 else 1 end) as rank
    from package_dependencies d join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
    where d.name = ? and d.sdk is null and (${isHostedHere('d.hosted_url')} or d.hosted_url is null) and p.name <> ?
  ) stated where rank = 1 order by name, age, sort_key desc, need`
