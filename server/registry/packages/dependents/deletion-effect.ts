import type { EntityManager } from '@mikro-orm/sql'
import { allows, parseConstraint } from '../../../platform/pub/constraint.ts'

/**
 * Effect of deleting a version on a constraint: `served` if another version satisfies it, `broken` if none does, `none` if the constraint does not
 * allow the deleted version.
 */
export type Effect = 'served' | 'broken' | 'none'

/**
 * Returns a function that computes the effect of deleting a version on a constraint. Takes one statement. Retracted versions do not satisfy
 * constraints.
 */
export async function effectOfDeletion(em: EntityManager, name: string, version: string): Promise<(constraint: string) => Effect> {
  const others = await em.execute<{ version: string }[]>(
    `select v.version from package_versions v join packages p on p.id = v.package_id
     where p.name = ? and v.version <> ? and v.retracted_at is null`,
    [name, version],
  )
  function effectOn(text: string): Effect {
    const constraint = parseConstraint(text)
    if (!constraint || !allows(constraint, version)) return 'none'
    return others.some((other) => allows(constraint, other.version)) ? 'served' : 'broken'
  }
  // Dependents mostly use the same few constraints, so the results are cached.
  const known = new Map<string, Effect>()
  return (text) => {
    const effect = known.get(text) ?? effectOn(text)
    known.set(text, effect)
    return effect
  }
}
