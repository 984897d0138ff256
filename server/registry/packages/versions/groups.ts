import type { Context } from '../../../platform/access/context.ts'
import { compareParsed, known } from '../../../platform/pub/version.ts'
import type { Package } from '../entity.ts'
import { versionNumbers } from './service.ts'

/** All versions with the same first number. `constraint` allows exactly these versions, including pre-releases. */
export type VersionGroup = { name: string; constraint: string; count: number; highest: string }

/** Returns the readable versions of a package by major version, highest first. */
export async function versionGroups(reader: Pick<Context, 'em' | 'viewer' | 'config'>, pkg: Package): Promise<VersionGroup[]> {
  const { readable } = await versionNumbers(reader, pkg)
  const parsed = readable.map((text) => ({ text, version: known(text) })).toSorted((a, b) => compareParsed(b.version, a.version))
  return Array.from(
    Map.groupBy(parsed, ({ version }) => version.release[0] ?? 0n),
    ([major, group]) => ({
      name: `${major}.x`,
      constraint: `>=${major}.0.0-0 <${major + 1n}.0.0-0`,
      count: group.length,
      highest: group[0]?.text ?? '',
    }),
  )
}
