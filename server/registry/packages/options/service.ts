import { audit } from '../../../accounts/audit/service.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { invalidInput, conflict } from '../../../errors.ts'
import { changePackage, unchanged } from '../change-package.ts'
import { canChangeOptions, canRetract, isRestorable, isRetractable, restorableUntil, retractableUntil, retractionDays } from '../policy.ts'
import { type Package, PackageVersion } from '../entity.ts'
import { unknownVersion } from '../parameters.ts'
import { updateLatestVersions } from '../versions/service.ts'

type Options = Pick<Package, 'isDiscontinued' | 'replacedBy' | 'isUnlisted' | 'allowsManualPublishing'>

/** Options to change. Omitted options keep their values. */
export type OptionChanges = { [Name in keyof Options]?: Options[Name] | null | undefined }

/**
 * Changes a package's options. Clearing `isDiscontinued` removes the replacement.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput for an invalid replacement.
 */
export async function updatePackageOptions(context: SignedInContext, name: string, changes: OptionChanges): Promise<Package> {
  const { viewer, ip } = context
  return changePackage(context, name, canChangeOptions, async (em, pkg) => {
    const next = optionsAfter(pkg, changes)
    const differences = describeChanges(pkg, next)
    if (differences.length === 0) return unchanged(pkg)
    Object.assign(pkg, next)
    audit(em, {
      kind: 'package.options_updated',
      actor: viewer,
      summary: `${viewer.displayName} changed the options of ${name}: ${differences.join(', ')}`,
      package: name,
      ip,
    })
    return pkg
  })
}

function optionsAfter(pkg: Package, { isDiscontinued, replacedBy, isUnlisted, allowsManualPublishing }: OptionChanges): Options {
  const next = {
    isDiscontinued: isDiscontinued ?? pkg.isDiscontinued,
    isUnlisted: isUnlisted ?? pkg.isUnlisted,
    allowsManualPublishing: allowsManualPublishing ?? pkg.allowsManualPublishing,
  }
  if (replacedBy && !next.isDiscontinued)
    throw invalidInput('replacedBy: only a discontinued package can have a replacement. Set isDiscontinued as well.', 'replacedBy')
  if (replacedBy === pkg.name) throw invalidInput('replacedBy: a package cannot replace itself. Name another package.', 'replacedBy')
  const kept = replacedBy === undefined ? pkg.replacedBy : replacedBy
  return { ...next, replacedBy: next.isDiscontinued ? kept : null }
}

function describeChanges(before: Options, after: Options): string[] {
  return [
    after.isDiscontinued !== before.isDiscontinued && (after.isDiscontinued ? 'discontinued' : 'no longer discontinued'),
    (after.replacedBy ?? null) !== (before.replacedBy ?? null) && (after.replacedBy ? `replaced by ${after.replacedBy}` : 'no replacement'),
    after.isUnlisted !== before.isUnlisted && (after.isUnlisted ? 'unlisted' : 'listed again'),
    after.allowsManualPublishing !== before.allowsManualPublishing &&
      (after.allowsManualPublishing ? 'manual publishing allowed' : 'published by trusted publishers only'),
  ].filter((part) => part !== false)
}

export type VersionOptions = { package: string; version: string; isRetracted: boolean }

/**
 * Retracts or restores a version, and updates the package's latest version, description and search index.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict if the version already has that state or the time limit of 7 days has passed.
 */
export async function updateVersionOptions(context: SignedInContext, options: VersionOptions): Promise<PackageVersion> {
  const { viewer, ip } = context
  const { package: name, version, isRetracted } = options
  return changePackage(context, name, canRetract, async (em, pkg) => {
    const found = await em.findOne(PackageVersion, { package: pkg, version })
    if (!found) throw unknownVersion(name, version)
    const now = context.now()
    requireAllowedTransition(found, `${name} ${version}`, isRetracted, context, now)
    found.retractedAt = isRetracted ? now : null
    await em.flush()
    await updateLatestVersions(em, pkg)
    audit(em, {
      kind: isRetracted ? 'package.version_retracted' : 'package.version_unretracted',
      actor: viewer,
      summary: `${viewer.displayName} ${isRetracted ? 'retracted' : 'restored'} ${name} ${version}`,
      package: name,
      version,
      ip,
    })
    return found
  })
}

function requireAllowedTransition(
  version: PackageVersion,
  title: string,
  isRetracted: boolean,
  { config }: Pick<SignedInContext, 'config'>,
  now: Date,
): void {
  const { createdAt, retractedAt } = version
  if (isRetracted && retractedAt) throw conflict(`${title} is already retracted, since ${retractedAt.toISOString()}.`)
  if (!isRetracted && !retractedAt) throw conflict(`${title} is not retracted, so there is nothing to restore.`)
  if (isRetracted && !isRetractable(version, config, now))
    throw conflict(
      `${title} was published at ${createdAt.toISOString()} and could be retracted for ${retractionDays} days, until ${retractableUntil(version, config)?.toISOString()}. Publish a higher version instead.`,
    )
  if (retractedAt && !isRestorable(version, config, now))
    throw conflict(
      `${title} was retracted at ${retractedAt.toISOString()} and could be restored for ${retractionDays} days, until ${restorableUntil(version, config)?.toISOString()}. Publish its contents as a higher version instead.`,
    )
}
