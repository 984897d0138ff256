import { batched } from '../../../platform/db/batched.ts'
import { allows, type Constraint, parseConstraint } from '../../../platform/pub/constraint.ts'

type Row = { name: string; version: string; isPrerelease: boolean | number }

/**
 * Loads the version that satisfies a constraint, by `<name> <constraint>`: the highest stable version that the constraint allows, else the highest
 * pre-release. Retracted versions are ignored.
 */
export const loadResolvedVersion = batched(async (em, keys) => {
  const wanted = keys.map((key) => ({
    key,
    name: key.slice(0, key.indexOf(' ')),
    constraint: parseConstraint(key.slice(key.indexOf(' ') + 1)),
  }))
  const names = [...new Set(wanted.map(({ name }) => name))]
  const rows: Row[] = await em.execute(
    `select p.name, v.version, v.is_prerelease as "isPrerelease" from package_versions v join packages p on p.id = v.package_id
     where p.name in (${names.map(() => '?').join(', ')}) and v.retracted_at is null order by v.sort_key desc`,
    names,
  )
  const byName = Map.groupBy(rows, ({ name }) => name)
  const found = wanted.map(({ key, name, constraint }) => [key, constraint && best(byName.get(name) ?? [], constraint)] as const)
  return new Map(found.flatMap(([key, version]) => (version ? [[key, version] as const] : [])))
})

function best(rows: readonly Row[], constraint: Constraint): string | null {
  const admitted = rows.filter(({ version }) => allows(constraint, version))
  return (admitted.find(({ isPrerelease }) => !isPrerelease) ?? admitted[0])?.version ?? null
}
