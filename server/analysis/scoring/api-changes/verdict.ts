import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { changeRows, readRows } from '../../../platform/db/statements.ts'
import { type ApiVerdict, apiVerdictSchema } from '../../dart/changes.ts'

/** Stores how the public API of a version changed, or removes it if it is unknown. Runs in the transaction of `em`. */
export async function writeApiVerdict(em: EntityManager, versionId: string, found: ApiVerdict | null): Promise<void> {
  if (!found) return void (await changeRows(em, db.deleteFrom('version_api_verdicts').where('version_id', '=', versionId)))
  const verdict = { compared_with: found.from, verdict: found.verdict, is_honest: found.isHonest }
  await changeRows(
    em,
    db
      .insertInto('version_api_verdicts')
      .values({ version_id: versionId, ...verdict })
      .onConflict((earlier) => earlier.column('version_id').doUpdateSet(verdict)),
  )
}

/** Returns the ids of the versions whose stored comparison is with this version, which is about to be deleted. */
export async function versionsComparedWith(em: EntityManager, versionId: string): Promise<string[]> {
  const compared = db
    .selectFrom('package_versions as d')
    .innerJoin('package_versions as v', 'v.package_id', 'd.package_id')
    .innerJoin('version_api_verdicts as a', (join) => join.onRef('a.version_id', '=', 'v.id').onRef('a.compared_with', '=', 'd.version'))
    .select('a.version_id as id')
    .where('d.id', '=', versionId)
  return (await readRows(em, compared)).map(({ id }) => id)
}

/**
 * Returns the ids of the versions whose analysis compares them with this version: the next one, and the next stable one. Versions in between without a
 * known API do not count, as in `readEarlier`.
 */
export async function versionsAfter(em: EntityManager, versionId: string): Promise<string[]> {
  const later = db
    .selectFrom('package_versions as e')
    .innerJoin('package_versions as v', (join) => join.onRef('v.package_id', '=', 'e.package_id').onRef('v.sort_key', '>', 'e.sort_key'))
    .innerJoin('score_reports as r', 'r.version_id', 'v.id')
    .select('v.id')
    .where('r.generation', '>', 0)
    .where('e.id', '=', versionId)
    .where((eb) => eb.or([eb.ref('v.is_prerelease'), eb.not(eb.ref('e.is_prerelease'))]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('package_versions as b')
            .innerJoin('version_surfaces as s', 's.version_id', 'b.id')
            .select('b.id')
            .whereRef('b.package_id', '=', 'e.package_id')
            .whereRef('b.sort_key', '>', 'e.sort_key')
            .whereRef('b.sort_key', '<', 'v.sort_key')
            .where('b.retracted_at', 'is', null)
            .where((each) => each.or([each.ref('v.is_prerelease'), each.not(each.ref('b.is_prerelease'))])),
        ),
      ),
    )
  return (await readRows(em, later)).map(({ id }) => id)
}

/** Loads how the public API of a version changed, by version id. Versions without a comparison with a version that still exists are missing. */
export const loadApiVerdict = batched(async (em, ids) => {
  const rows = await readRows(
    em,
    db
      .selectFrom('version_api_verdicts as a')
      .innerJoin('package_versions as v', 'v.id', 'a.version_id')
      .innerJoin('package_versions as e', (join) =>
        join.onRef('e.package_id', '=', 'v.package_id').onRef('e.version', '=', 'a.compared_with'),
      )
      .select(['a.version_id', 'a.compared_with as from', 'a.verdict', 'a.is_honest as isHonest'])
      .where('a.version_id', 'in', ids),
  )
  return new Map(rows.map(({ version_id: id, ...verdict }): [string, ApiVerdict] => [id, apiVerdictSchema.parse(verdict)]))
})
