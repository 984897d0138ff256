import type { EntityManager } from '@mikro-orm/sql'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { type Setting, writeSetting } from '../../platform/settings/service.ts'
import { audienceOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { lockShared, readRows } from '../../platform/db/statements.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { hostedHere } from './hosting.ts'
import { isHidden } from './conditions.ts'

/** Replaced whenever a package becomes public, becomes private or is deleted. Validates cached answers to the public. */
export const visibilityMark: Setting<string | null> = { key: 'visibility_mark', schema: z.string().nullable(), initial: null }

/** Invalidates cached public answers. Locks the setting's row, so transactions that change visibility are serialized from here on. */
export const markVisibilityChange = (em: EntityManager): Promise<void> => writeSetting(em, visibilityMark, uuid())

/** Blocks changes of visibility until the end of the transaction, so that they and a concurrent publish see each other. */
export const lockVisibility = (em: EntityManager): Promise<void> =>
  lockShared(em, db.selectFrom('server_settings').select('key').where('key', '=', visibilityMark.key))

/** Parts of a public package that are hidden from the public. */
export type Withheld = {
  /** Ids of versions with a direct dependency on a package of this server that is not public. */
  versions: ReadonlySet<string>
  /** By version id: names of non-public packages of this server among the dependencies of the version. */
  names: ReadonlyMap<string, ReadonlySet<string>>
}

/** Returns what is hidden from the public in a package. Takes one query. */
export async function readWithheld(reads: Reads, packageId: string, hosted: string): Promise<Withheld> {
  return withheldOf(await reads.all(withheldOfPackage, hosted, packageId))
}

/** Returns what is hidden from the caller in a package. Batched per request. */
export async function loadWithheld(request: Pick<Context, 'em' | 'viewer' | 'config'>, packageId: string): Promise<Withheld> {
  if (audienceOf(request) === 'members') return nothing
  return (await load(request, `${packageId} ${hostedHere(request.config)}`)) ?? nothing
}

const load = batched(async (em, keys) => {
  const ids = keys.map((key) => key.split(' ')[0] ?? '')
  const hosted = keys[0]?.split(' ')[1] ?? ''
  const rows = await readRows(em, withheld(hosted).where('v.package_id', 'in', ids))
  return new Map([...Map.groupBy(rows, (row) => `${row.package_id} ${hosted}`)].map(([key, group]) => [key, withheldOf(group)]))
})

type Row = { package_id: string; version_id: string; kind: 'direct' | 'dev'; name: string }

/** Selects the hidden dependencies of versions `v`. */
const withheld = (hosted: string) =>
  db
    .selectFrom('package_versions as v')
    .innerJoin('package_dependencies as d', 'd.version_id', 'v.id')
    .leftJoin('packages as q', 'q.name', 'd.name')
    .select(['v.package_id', 'v.id as version_id', 'd.kind', 'd.name'])
    .where((eb) => isHidden(eb.ref('d.hosted_url'), { id: eb.ref('q.id'), visibility: eb.ref('q.visibility') }, hosted))

const withheldOfPackage = prepared((hosted: string, packageId: string) => withheld(hosted).where('v.package_id', '=', packageId))

function withheldOf(rows: Row[]): Withheld {
  const versions = new Set(rows.flatMap(({ kind, version_id: id }) => (kind === 'direct' ? id : [])))
  const byVersion = Map.groupBy(rows, (row) => row.version_id)
  return { versions, names: new Map([...byVersion].map(([id, group]) => [id, new Set(group.map(({ name }) => name))])) }
}

const nothing: Withheld = { versions: new Set(), names: new Map() }

/** Returns a pubspec (JSON text) without the given dev dependencies and without `dependency_overrides`, which only its authors need. */
export function withoutNames(pubspec: string, names: ReadonlySet<string> | undefined): string {
  if (!names?.size && !pubspec.includes('"dependency_overrides"')) return pubspec
  const { dependency_overrides: _overrides, dev_dependencies: dev, ...rest } = JSON.parse(pubspec) as Record<string, object | null>
  const kept = Object.entries(dev ?? {}).filter(([name]) => !names?.has(name))
  return JSON.stringify(kept.length > 0 ? { ...rest, dev_dependencies: Object.fromEntries(kept) } : rest)
}
