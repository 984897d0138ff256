import { z } from 'zod'
import type { Context } from '../../../platform/access/context.ts'
import { batched } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { apiChangesSchema } from '../../dart/changes.ts'
import { serviceUnavailable } from '../../../errors.ts'
import { fairQueueKey } from '../../../platform/http/limits.ts'
import type { PackageVersion } from '../../../registry/packages/entity.ts'
import { loadPackage } from '../../../registry/packages/service.ts'
import { findVersion, previousVersion } from '../../../registry/packages/versions/service.ts'
import { createFairLimiter } from '../../../platform/threads/fair-limiter.ts'
import { loadGeneration } from '../report.ts'
import { ThreadFailed, openThreadPool } from '../../../platform/threads/pool.ts'
import type { Task } from './worker.ts'

const answer = z.object({
  /** Whether the version number reflects the changes, by semantic versioning; null if the other version is not an earlier one. */
  isHonest: z.boolean().nullable(),
  sentence: z.string().nullable(),
  /** Total numbers of changes; `changes` contains only the first of each kind. */
  counts: z.object({ added: z.number(), removed: z.number(), changed: z.number() }),
  changes: apiChangesSchema,
})
export type Comparison = z.infer<typeof answer> & { from: string }

declare module '../../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Comparisons of two versions, keyed by the ids and the last analyses of both. */
    api_changes: Comparison
  }
}

/**
 * Compares a version's public API with that of `from`, or of the previous version. Returns null if either version is hidden from the caller or was
 * not analyzed. @throws ApiError ServiceUnavailable when too many comparisons are waiting.
 */
export async function compareVersions(context: Context, version: PackageVersion, from: string | null): Promise<Comparison | null> {
  const pkg = await loadPackage(context, version.package.id)
  if (!pkg) return null
  // `previousVersion` and `findVersion` only return versions that the caller may read.
  const earlier = from === null ? await previousVersion(context, pkg, version) : await findVersion(context, pkg, from)
  if (!earlier) return null
  const [before, after] = await Promise.all([earlier, version].map(({ id }) => loadGeneration(context, id)))
  const key = `${earlier.id} ${before} ${version.id} ${after}`
  let comparison = context.caches.api_changes.get(key)
  if (!comparison) {
    const found = await compare(context, earlier, version)
    if (!found) return null
    comparison = { ...found, from: earlier.version }
    context.caches.api_changes.set(key, comparison)
  }
  return comparison
}

const ask = openThreadPool(new URL('./worker.ts', import.meta.url), {
  deadlineMs: 5000,
  idleMs: 10_000,
  memory: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 },
})
const inTurn = createFairLimiter({
  atOnce: 1,
  waiting: 100,
  waitingPerKey: 20,
  maxWaitMs: 10_000,
  rejection: () => serviceUnavailable('Too many comparisons are waiting. Try again in a moment.', 5),
})

async function compare(context: Context, earlier: PackageVersion, later: PackageVersion): Promise<z.infer<typeof answer> | null> {
  const [before, after] = await Promise.all([loadSurface(context, earlier.id), loadSurface(context, later.id)])
  if (!before || !after) return null
  const task: Task = { earlier: { version: earlier.version, surface: before }, later: { version: later.version, surface: after } }
  const work = inTurn(context.viewer?.id ?? fairQueueKey(context.ip), () => ask(task))
  try {
    return answer.nullable().parse(await (context.budget?.uncounted(work) ?? work))
  } catch (error) {
    if (!(error instanceof ThreadFailed)) throw error
    context.log.warning(`comparing ${earlier.version} and ${later.version} of package ${later.package.id}: ${error.message}`)
    throw Object.assign(serviceUnavailable('The versions could not be compared. Try again in a minute.', 60), { cause: error })
  }
}

const loadSurface = batched(async (em, ids) => {
  const rows = await readRows(em, db.selectFrom('version_surfaces').select(['version_id', 'surface']).where('version_id', 'in', ids))
  return new Map(rows.map((row) => [row.version_id, row.surface]))
})
