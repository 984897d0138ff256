import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { adviceForAdmin } from '../../platform/access/roles.ts'
import { Package } from './entity.ts'
import { unknownPackage } from './parameters.ts'
import type { PackageRule } from './policy.ts'

type Change<Result> = (em: EntityManager, pkg: Package) => Promise<Result | Unchanged<Result>>

/** Marks the result of a change that had nothing to change. */
class Unchanged<Result> {
  readonly result: Result
  constructor(result: Result) {
    this.result = result
  }
}

/** Wraps the result of a no-op change, so that `changePackage` does not update the package's revision and timestamp. */
export const unchanged = <Result>(result: Result): Unchanged<Result> => new Unchanged(result)

/**
 * Changes a package while holding its row lock. Unless the change is a no-op, increments the revision, which invalidates caches, and refreshes
 * what is derived from the package. `can` is the permission check; `refused` returns the message for callers that fail it.
 * @throws ApiError NotFound; InsufficientPermissions; any error thrown by `change`, after a rollback.
 */
export function changePackage<Result>(
  context: SignedInContext,
  name: string,
  can: PackageRule,
  change: Change<Result>,
  refused: (name: string) => string = notAdministered,
): Promise<Result> {
  const { now } = context
  return context.em.fork().transactional(async (inner) => {
    const pkg = await inner.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!pkg) throw unknownPackage(name)
    if (!(await can(inner, context, pkg))) throw insufficientPermissions(refused(name) + adviceForAdmin(context))
    const result = await change(inner, pkg)
    if (result instanceof Unchanged) return result.result
    pkg.revision += 1
    pkg.updatedAt = now()
    await inner.flush()
    await context.afterPackageChange(inner, { kind: 'changed', packageId: pkg.id }, context)
    return result
  })
}

export const notAdministered = (name: string): string =>
  `You do not administer ${name}. Ask one of its uploaders, or an admin of its publisher.`
