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

/** Loads how the public API of a version changed, by version id. Versions without a stored comparison are missing. */
export const loadApiVerdict = batched(async (em, ids) => {
  const sql = `select version_id, compared_with, verdict, is_honest from version_api_verdicts where version_id in (${ids.map(() => '?').join(', ')})`
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
