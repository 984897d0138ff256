import type { Context } from '../../../platform/access/context.ts'
import { allows, parseConstraint } from '../../../platform/pub/constraint.ts'
import { parseVersion } from '../../../platform/pub/version.ts'
import type { Dependency } from '../../archive/dependencies.ts'
import type { PackageVersion } from '../entity.ts'
import { isThisServer } from '../hosting.ts'
import { loadReadablePackage } from '../service.ts'
import { findVersion, selectableVersions } from '../versions/service.ts'

export const isHostedHere = ({ hostedUrl }: Pick<Dependency, 'hostedUrl'>, context: Context): Promise<boolean> =>
  isThisServer(context, hostedUrl)

/**
 * Returns the first stable version that all constraints allow, or else the first pre-release, or null. `versions` are ordered from the
 * highest to the lowest.
 */
export function selectVersion(versions: readonly string[], constraints: Iterable<string>): string | null {
  const parsed = Array.from(constraints, parseConstraint)
  const allowed = versions.filter((version) => parsed.every((constraint) => constraint !== null && allows(constraint, version)))
  return allowed.find((version) => parseVersion(version)?.preRelease.length === 0) ?? allowed[0] ?? null
}

/** Returns the version of this server that satisfies a dependency, or null if the caller can read none. Batched per request. */
export async function resolveDependency(context: Context, dependency: Dependency): Promise<PackageVersion | null> {
  const pkg = (await isHostedHere(dependency, context)) ? await loadReadablePackage(context, dependency.name) : null
  if (!pkg) return null
  const version = selectVersion(await selectableVersions(context, pkg), [dependency.constraint])
  return version === null ? null : findVersion(context, pkg, version)
}
