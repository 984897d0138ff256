import { hostedHere, isHostedHere } from '../hosted-here.ts'
import type { Config } from '../../config/config.ts'
import { batched } from '../../db/batched.ts'
import type { Reads } from '../../db/reads.ts'

// A dependency that anybody would look for on this server and not find: private, or not there; the two look alike.
const dependencies = 'package_dependencies d left join packages q on q.name = d.name'
const unreadable = `${isHostedHere('d.hosted_url')} and (q.id is null or q.visibility <> 'public')`

/** SQL: whether anybody may read the version `v` of the package `p`. What needs a private package is left out. Takes `hostedHere`. */
export const readableByAnybody = `p.visibility = 'public' and not exists (select 1 from ${dependencies} where d.version_id = v.id and d.kind = 'direct' and ${unreadable})`

/** What of a public package anybody may not read. */
export type Withheld = {
  /** Ids of the versions that need a package of this server that is not public. */
  versions: ReadonlySet<string>
  /** Such packages that the other versions name for their own development, by the version's id. */
  names: ReadonlyMap<string, ReadonlySet<string>>
}

/** What is withheld of a package; one query. */
export async function readWithheld(reads: Reads, packageId: string, hosted: string): Promise<Withheld> {
  return withheldOf(await reads.all<Row>(`${statement} = ?`, hosted, packageId))
}

/** The same by the package's id, gathered into one query for all that a request asks for. */
export const loadWithheld = (request: Parameters<typeof load>[0] & { config: Config }, packageId: string): Promise<Withheld> =>
  load(request, `${packageId} ${hostedHere(request.config)}`).then((withheld) => withheld ?? nothing)

const load = batched(async (em, keys) => {
  const ids = keys.map((key) => key.split(' ')[0] ?? '')
  const hosted = keys[0]?.split(' ')[1] ?? ''
  const rows = await em.execute<Row[]>(`${statement} in (${ids.map(() => '?').join(', ')})`, [hosted, ...ids])
  return new Map([...Map.groupBy(rows, (row) => `${row.package_id} ${hosted}`)].map(([key, group]) => [key, withheldOf(group)]))
})

type Row = { package_id: string; version_id: string; kind: 'direct' | 'dev'; name: string }

const statement = `select v.package_id, v.id as version_id, d.kind, d.name
  from package_versions v join package_dependencies d on d.version_id = v.id left join packages q on q.name = d.name
  where ${unreadable} and v.package_id`

function withheldOf(rows: Row[]): Withheld {
  const versions = new Set(rows.flatMap(({ kind, version_id: id }) => (kind === 'direct' ? id : [])))
  const byVersion = Map.groupBy(rows, (row) => row.version_id)
  return { versions, names: new Map([...byVersion].map(([id, group]) => [id, new Set(group.map(({ name }) => name))])) }
}

const nothing: Withheld = { versions: new Set(), names: new Map() }

/** A pubspec (JSON text) without the names that are withheld of its version. What only its authors need may be missing from it. */
export function withoutNames(pubspec: string, names: ReadonlySet<string> | undefined): string {
  if (!names?.size && !pubspec.includes('"dependency_overrides"')) return pubspec
  const { dependency_overrides: _overrides, dev_dependencies: dev, ...rest } = JSON.parse(pubspec) as Record<string, object | null>
  const kept = Object.entries(dev ?? {}).filter(([name]) => !names?.has(name))
  return JSON.stringify(kept.length > 0 ? { ...rest, dev_dependencies: Object.fromEntries(kept) } : rest)
}
