import type { EntityManager } from '@mikro-orm/sql'
import { audienceOf } from '../access/audience.ts'
import type { Context } from '../access/context.ts'
import { batched } from '../db/batched.ts'
import { readRows } from '../db/statements.ts'
import { seenByAnybody } from '../packages/policy.ts'

// A report is made once, from what its readers may know at that moment. Packages become private after that, and what was made for members stays
// when a package becomes public, until it is analyzed again: so what anybody reads of it is looked through each time.

/**
 * Whether what an analysis said of a version, as text, names a package that whoever asks may not know of. What it can name is what the version
 * depends on, directly or through others, and what is to be used in place of that. Costs a query for all that a request asks for together.
 */
export async function namesWhatIsHidden(context: Pick<Context, 'em' | 'viewer'>, versionId: string, text: string): Promise<boolean> {
  if (audienceOf(context) === 'members') return false
  const hidden = await loadHidden(context, versionId)
  return hidden !== null && new RegExp(`(?<![a-z0-9_])(?:${hidden.join('|')})(?![a-z0-9_])`).test(text)
}

const loadHidden = batched(async (em: EntityManager, ids) => {
  const marks = ids.map(() => '?').join(', ')
  const rows = await readRows<{ version_id: string; name: string }>(
    em,
    `with recursive needed(version_id, name) as (
       select d.version_id, d.name from package_dependencies d where d.version_id in (${marks})
       union
       select n.version_id, d.name from needed n
         join packages p on p.name = n.name
         join package_versions v on v.package_id = p.id
         join package_dependencies d on d.version_id = v.id and d.kind = 'direct'
     ), nameable(version_id, name) as (
       select version_id, name from needed
       union select n.version_id, p.replaced_by from needed n join packages p on p.name = n.name
       union select v.id, p.replaced_by from package_versions v join packages p on p.id = v.package_id where v.id in (${marks})
     )
     select n.version_id, q.name from nameable n join packages q on q.name = n.name where not ${seenByAnybody('q')}`,
    [...ids, ...ids],
  )
  return new Map(
    Map.groupBy(rows, (row) => row.version_id)
      .entries()
      .map(([id, group]) => [id, group.map(({ name }) => name)]),
  )
})
