import type { EntityManager } from '@mikro-orm/sql'
import { type Here, hostedHere, isHostedHere } from '../hosting/hosted-here.ts'
import { effectOfDeletion } from '../dependents/deletion-effect.ts'
import type { Dependent } from '../dependents/service.ts'
import type { Visibility } from '../entity.ts'

/**
 * A public or private package that depends on the package or version to be deleted. `isBroken` means that no remaining version satisfies its
 * constraint.
 */
export type AffectedDependent = Dependent & { visibility: Visibility; isBroken: boolean }

/**
 * Returns every package that depends, in any of its versions, on a package or on one version of it. Each package occurs once, ordered by name. If
 * `version` is given, only constraints that allow it count, and a constraint that only this version satisfies takes precedence. Otherwise the latest
 * version of the dependent is reported, or else its highest version that has the dependency. Dependencies without a registry URL count too, because
 * clients that use this server as their default registry resolve them here. Takes at most two statements, regardless of the number of dependents.
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

/** Selects each constraint of each dependent once, ordered by package name, with the constraint of the latest version first. */
const statement = `select "packageId", name, version, "constraint", kind, visibility, "isBare" from (
    select p.id as "packageId", p.name, p.visibility, v.version, d."constraint", d.kind, d.hosted_url is null as "isBare",
      case when v.version = p.latest_version then 0 else 1 end as age, v.sort_key,
      case when d.kind = 'direct' then 0 else 1 end as need,
      row_number() over (partition by p.id, d."constraint" order by
        case when v.version = p.latest_version then 0 else 1 end, v.sort_key desc, case when d.kind = 'direct' then 0 else 1 end) as rank
    from package_dependencies d join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
    where d.name = ? and d.sdk is null and (${isHostedHere('d.hosted_url')} or d.hosted_url is null) and p.name <> ?
  ) stated where rank = 1 order by name, age, sort_key desc, need`
