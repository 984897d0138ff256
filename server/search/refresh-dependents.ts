import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isPublicPackage } from '../packages/policy.ts'
import { type Here, hostedHere, isHostedHere } from '../packages/hosting/hosted-here.ts'
import { markVisibilityChange } from '../packages/visibility/mark.ts'
import { forgetExcerpts, requestExcerpts } from './complete-excerpts.ts'
import { lockEntries } from './index-package.ts'
import { refreshIndex, shownTo } from './refresh-index.ts'

/**
 * Makes the index say what the database says of packages that became public or private, and of those that depend on them: what needs a private
 * package is found by nobody who did not sign in. A new package is private, and what was absent counts as that, so its dependents stay as they
 * are; private dependents do so always. Such changes follow each other from here to the end of their transactions, and the caches learn that
 * other packages may be readable now. What anybody finds of packages that they read only in part is made anew after the commit.
 */
export async function refreshWithDependents(em: EntityManager, here: Here, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await markVisibilityChange(em)
  const affected = affectedBy(here, names)
  const unknown = await lockEntries(em, affected.sql, affected.parameters)
  await forgetExcerpts(em, affected.sql, affected.parameters)
  const changed = await em.execute<{ id: string }[]>(`select id from packages where name in (${marksFor(names)}) order by id`, [...names])
  await refreshEach(em, here, new Set([...changed.map(({ id }) => id), ...unknown]))
  await updateReach(em, here, affected)
  await requestExcerpts(em, here, affected.sql, affected.parameters)
}

type Subquery = { sql: string; parameters: string[] }

/**
 * The packages themselves, and every public one of which any version needs them: also when its latest version does not, or it is unlisted, for
 * that may be changing at the same time.
 */
function affectedBy(here: Here, names: readonly string[]): Subquery {
  const sql = `select id from packages where name in (${marksFor(names)}) union
    select o.id from package_dependencies d join package_versions w on w.id = d.version_id join packages o on o.id = w.package_id
    where d.name in (${marksFor(names)}) and d.kind = 'direct' and ${isPublicPackage('o')} and ${isHostedHere('d.hosted_url')}`
  return { sql, parameters: [...names, ...names, hostedHere(here)] }
}

const marksFor = (values: readonly string[]) => values.map(() => '?').join(', ')

/** Lets others in between two packages: one takes milliseconds. */
async function refreshEach(em: EntityManager, here: Here, ids: Iterable<string>): Promise<void> {
  for (const id of ids) {
    await refreshIndex(em, here, id)
    await nextTurn()
  }
}

/** Who may find the affected packages now: one statement for all, which writes no texts. */
async function updateReach(em: EntityManager, here: Here, affected: Subquery): Promise<void> {
  await em.execute(
    `update package_search_documents as d set shown_to = now.shown_to from (
       select p.id as package_id, ${shownTo} as shown_to from packages p where p.id in (${affected.sql})
     ) now where now.package_id = d.package_id and now.shown_to <> d.shown_to`,
    [hostedHere(here), ...affected.parameters],
  )
}
