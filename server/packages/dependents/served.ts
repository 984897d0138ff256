import type { EntityManager } from '@mikro-orm/sql'
import { allows, parseConstraint } from '../../pub/constraint.ts'

/** What deleting a version does to a constraint: it admits another one, nothing else serves it, or it never admitted this one. */
export type Effect = 'served' | 'broken' | 'none'

/** Tells the effect of deleting a version on each constraint. One statement; a retracted version serves nobody. */
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
  // Dependents mostly state the same few constraints.
  const known = new Map<string, Effect>()
  return (text) => {
    const effect = known.get(text) ?? effectOn(text)
    known.set(text, effect)
    return effect
  }
}
