import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../../platform/db/batched.ts'
import { changeRows, readRows } from '../../../platform/db/statements.ts'
import { type ApiVerdict, apiVerdictSchema } from '../../dart/changes.ts'

/** Stores how the public API of a version changed, or removes it if it is unknown. Runs in the transaction of `em`. */
export async function writeApiVerdict(em: EntityManager, versionId: string, found: ApiVerdict | null): Promise<void> {
  if (!found) return void (await changeRows(em, 'delete from version_api_verdicts where version_id = ?', [versionId]))
  await changeRows(
    em,
    `insert into version_api_verdicts (version_id, compared_with, verdict, is_honest) values (?, ?, ?, ?)
     on conflict (version_id) do update set compared_with = excluded.compared_with, verdict = excluded.verdict, is_honest = excluded.is_honest`,
    [versionId, found.from, found.verdict, found.isHonest],
  )
}

/** Returns the ids of the versions whose stored comparison is with this version, which is about to be deleted. */
export async function versionsComparedWith(em: EntityManager, versionId: string): Promise<string[]> {
  const sql = `select a.version_id as id from package_versions d join package_versions v on v.package_id = d.package_id
    join version_api_verdicts a on a.version_id = v.id and a.compared_with = d.version where d.id = ?`
  return (await readRows<{ id: string }>(em, sql, [versionId])).map(({ id }) => id)
}

/**
 * Returns the ids of the versions whose analysis compares them with this version: the next one, and the next stable one. Versions in between without a
 * known API do not count, as in `readEarlier`.
 */
export async function versionsAfter(em: EntityManager, versionId: string): Promise<string[]> {
  const sql = `select v.id from package_versions e join package_versions v on v.package_id = e.package_id and v.sort_key > e.sort_key
      and (v.is_prerelease or not e.is_prerelease)
    join score_reports r on r.version_id = v.id and r.generation > 0
    where e.id = ? and not exists (
      select 1 from package_versions b join version_surfaces s on s.version_id = b.id
      where b.package_id = e.package_id and b.sort_key > e.sort_key and b.sort_key < v.sort_key and b.retracted_at is null
        and (v.is_prerelease or not b.is_prerelease))`
  return (await readRows<{ id: string }>(em, sql, [versionId])).map(({ id }) => id)
}

/** Loads how the public API of a version changed, by version id. Versions without a comparison with a version that still exists are missing. */
export const loadApiVerdict = batched(async (em, ids) => {
  const sql = `select a.version_id, a.compared_with, a.verdict, a.is_honest from version_api_verdicts a join package_versions v on v.id = a.version_id
    join package_versions e on e.package_id = v.package_id and e.version = a.compared_with where a.version_id in (${ids.map(() => '?').join(', ')})`
  const rows = await readRows<{ version_id: string; compared_with: string; verdict: string; is_honest: boolean | number | null }>(
    em,
    sql,
    ids,
  )
  return new Map(
    rows.map(({ version_id: id, compared_with: from, verdict, is_honest: isHonest }): [string, ApiVerdict] => [
      id,
      apiVerdictSchema.parse({ from, verdict, isHonest: isHonest === null ? null : Boolean(isHonest) }),
    ]),
  )
})
