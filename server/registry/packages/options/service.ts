import { audit } from '../../../accounts/audit/service.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { invalidInput } from '../../../errors.ts'
import { changePackage, unchanged } from '../changes/change-package.ts'
import { canChangeOptions } from '../policy.ts'
import type { Package } from '../entity.ts'

type Options = Pick<Package, 'isDiscontinued' | 'replacedBy' | 'isUnlisted'>

/** Options to change. Omitted options keep their values. */
export type OptionChanges = { [Name in keyof Options]?: Options[Name] | null | undefined }

/**
 * Changes a package's options. A package that is not discontinued has no replacement; clearing `isDiscontinued` removes it.
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

function optionsAfter(pkg: Package, { isDiscontinued, replacedBy, isUnlisted }: OptionChanges): Options {
  const next = { isDiscontinued: isDiscontinued ?? pkg.isDiscontinued, isUnlisted: isUnlisted ?? pkg.isUnlisted }
  if (replacedBy && !next.isDiscontinued)
    throw invalidInput('replacedBy: only a discontinued package can have a replacement. Set isDiscontinued as well.', 'replacedBy')
  if (replacedBy === pkg.name) throw invalidInput('replacedBy: a package cannot replace itself. Name another package.', 'replacedBy')
  const kept = replacedBy === undefined ? pkg.replacedBy : replacedBy
  return { ...next, replacedBy: next.isDiscontinued ? kept : null }
}

/** Describes the differences for the audit log. */
function describeChanges(before: Options, after: Options): string[] {
  return [
    after.isDiscontinued !== before.isDiscontinued && (after.isDiscontinued ? 'discontinued' : 'no longer discontinued'),
    (after.replacedBy ?? null) !== (before.replacedBy ?? null) && (after.replacedBy ? `replaced by ${after.replacedBy}` : 'no replacement'),
    after.isUnlisted !== before.isUnlisted && (after.isUnlisted ? 'unlisted' : 'listed again'),
  ].filter((part) => part !== false)
}
