import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { Job } from '../../../platform/jobs/entity.ts'
import { handler, subjectId } from '../../../platform/jobs/handler.ts'
import type { Services } from '../../../services.ts'
import { SdkInstall } from '../entity.ts'
import { listFolders, removeFolder } from './folders.ts'
import { attemptFolder } from '../platform.ts'
import { installKind } from '../service.ts'

/** Handles the job that deletes the folders of a removed or cancelled install. Keeps the folders of later attempts of the same install. */
export const sdkRemoval = ({ config, database }: Services) =>
  handler(z.unknown(), async (work) => {
    const id = subjectId(work)
    const install = await database.fork().findOne(SdkInstall, { id })
    for (const attempt of await listFolders(config))
      if (attempt.id === id && attempt.generation < (install?.generation ?? Number.POSITIVE_INFINITY)) await removeFolder(config, attempt)
  })

/** Minimum age in milliseconds of SDK folders to delete. Newer ones may belong to an import that has not created its database record yet. */
const graceMs = 3_600_000

type Collected = Pick<Services, 'config' | 'database' | 'log'>

/**
 * Deletes folders without a database record. Marks installs as failed whose job failed permanently without updating the record, for example because
 * each attempt crashed the server.
 */
export async function collectSdks({ config, database, log }: Collected): Promise<void> {
  const em = database.fork()
  const installs = await em.find(SdkInstall, {}, { disableIdentityMap: true })
  const known = new Set(installs.map(({ id, generation }) => `${id}.${generation}`))
  for (const attempt of await listFolders(config)) {
    const name = `${attempt.id}.${attempt.generation}`
    if (known.has(name)) continue
    // An import may have renamed the folder since it was listed, or another instance may have deleted it.
    const found = await stat(attemptFolder(config, attempt)).catch(() => null)
    if (!found || Date.now() - found.mtimeMs < graceMs) continue
    log.info(`deleting SDK folder ${name}: no install uses it`)
    await removeFolder(config, attempt)
  }
  for (const { id, generation, status } of installs) {
    if (status === 'ready' || status === 'failed') continue
    const [job] = await em.find(Job, { kind: installKind, subject: id }, { orderBy: { id: 'desc' }, limit: 1, disableIdentityMap: true })
    if (job && job.state !== 'failed') continue
    const errorMessage = job?.error ?? 'The install job no longer exists.'
    await em.nativeUpdate(SdkInstall, { id, generation, status }, { status: 'failed', errorMessage })
  }
}
