import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isPublicPackage } from '../packages/policy.ts'
import { type Here, hostedHere, isHostedHere } from '../packages/hosting.ts'
import { markVisibilityChange } from '../packages/visibility.ts'
import { lockEntries } from './index-package.ts'
import { refreshIndex, shownTo } from './refresh-index.ts'

/**
 * Updates the search documents of packages that became public or private, and of their public dependents: anonymous callers cannot find versions that
 * depend on a private package. A new package needs no call, because it is private and missing packages count as private. Locks visibility changes
 * until the transaction ends, which also invalidates caches of visible packages.
 */
export async function refreshWithDependents(em: EntityManager, here: Here, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await markVisibilityChange(em)
  const affected = affectedBy(here, names)
  const unknown = await lockEntries(em, affected.sql, affected.parameters)
  const changed = await em.execute<{ id: string }[]>(`select id from packages where name in (${marksFor(names)}) order by id`, [...names])
  await refreshEach(em, here, new Set([...changed.map(({ id }) => id), ...unknown]))
  await updateReach(em, here, affected)
}

type Subquery = { sql: string; parameters: string[] }

/**
 * Selects the packages themselves and all public packages with any version that depends on them. Includes dependents that are unlisted or whose
 * latest version no longer has the dependency, because both may be changing concurrently.
 */
function affectedBy(here: Here, names: readonly string[]): Subquery {
  const sql = `select id from packages where name in (${marksFor(names)}) union
    select o.id from package_dependencies d join package_versions w on w.id = d.version_id join packages o on o.id = w.package_id
    where d.name in (${marksFor(names)}) and d.kind = 'direct' and ${isPublicPackage('o')} and ${isHostedHere('d.hosted_url')}`
  return { sql, parameters: [...names, ...names, hostedHere(here)] }
}

const marksFor = (values: readonly string[]) => values.map(() => '?').join(', ')

/** Reindexes packages one by one, yielding to other work in between. Each takes milliseconds. */
async function refreshEach(em: EntityManager, here: Here, ids: Iterable<string>): Promise<void> {
  for (const id of ids) {
    await refreshIndex(em, here, id)
    await nextTurn()
  }
}

/** Updates the visibility of the affected packages in one statement, without rewriting their texts. */
async function updateReach(em: EntityManager, here: Here, affected: Subquery): Promise<void> {
  await em.execute(
    `update package_search_documents as d set shown_to = now.shown_to from (
       select p.id as package_id, ${shownTo} as shown_to from packages p where p.id in (${affected.sql})
     ) now where now.package_id = d.package_id and now.shown_to <> d.shown_to`,
    [hostedHere(here), ...affected.parameters],
  )
}
