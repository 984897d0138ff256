import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { adviceForAdmin } from '../../roles/viewer.ts'
import { Package } from '../entity.ts'
import { unknownPackage } from '../parameters.ts'
import type { PackageRule } from '../policy.ts'

type Change<Result> = (em: EntityManager, pkg: Package) => Promise<Result | Unchanged<Result>>

/** The answer of a change that found everything as it was to be. */
class Unchanged<Result> {
  readonly result: Result
  constructor(result: Result) {
    this.result = result
  }
}

/** What a change gives when it changed nothing: then the package keeps its revision, and the moment when it last changed. */
export const unchanged = <Result>(result: Result): Unchanged<Result> => new Unchanged(result)

/**
 * Changes a package in one transaction, under its lock, so that two changes never judge by the same state. Caches see it by the new revision,
 * and search by its index. `can`: the rule of who may; `refused`: what others hear.
 * @throws ApiError NotFound; InsufficientPermissions; whatever `change` throws, and then nothing is changed.
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

/** What somebody hears who may not change a package. */
export const notAdministered = (name: string): string =>
  `You do not administer ${name}. Ask one of its uploaders, or an admin of its publisher.`
