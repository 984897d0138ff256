import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { Job } from '../../jobs/entity.ts'
import { handler, subjectId } from '../../jobs/handler.ts'
import type { Services } from '../../services.ts'
import { SdkInstall } from '../entity.ts'
import { listFolders, removeFolder } from './folders.ts'
import { attemptFolder } from '../platform.ts'
import { installKind } from '../service.ts'

/** Removes the folders of an install that was removed or cancelled; not that of a later attempt at it. */
export const sdkRemoval = ({ config, database }: Services) =>
  handler(z.unknown(), async (work) => {
    const id = subjectId(work)
    const install = await database.fork().findOne(SdkInstall, { id })
    for (const attempt of await listFolders(config))
      if (attempt.id === id && attempt.generation < (install?.generation ?? Number.POSITIVE_INFINITY)) await removeFolder(config, attempt)
  })

/** Folders that came within this time may be of an import whose record follows. */
const graceMs = 3_600_000

type Collected = Pick<Services, 'config' | 'database' | 'log'>

/** Removes folders that no install names, and ends installs whose job failed for good without saying so, as when each attempt killed the server. */
export async function collectSdks({ config, database, log }: Collected): Promise<void> {
  const em = database.fork()
  const installs = await em.find(SdkInstall, {}, { disableIdentityMap: true })
  const known = new Set(installs.map(({ id, generation }) => `${id}.${generation}`))
  for (const attempt of await listFolders(config)) {
    const name = `${attempt.id}.${attempt.generation}`
    if (known.has(name)) continue
    // An import may have moved it in the meantime, and another instance removed it.
    const found = await stat(attemptFolder(config, attempt)).catch(() => null)
    if (!found || Date.now() - found.mtimeMs < graceMs) continue
    log.info(`removing ${name} from the folder of SDKs: no install names it`)
    await removeFolder(config, attempt)
  }
  for (const { id, generation, status } of installs) {
    if (status === 'ready' || status === 'failed') continue
    const [job] = await em.find(Job, { kind: installKind, subject: id }, { orderBy: { id: 'desc' }, limit: 1, disableIdentityMap: true })
    if (job && job.state !== 'failed') continue
    const errorMessage = job?.error ?? 'Its job is not there any more.'
    await em.nativeUpdate(SdkInstall, { id, generation, status }, { status: 'failed', errorMessage })
  }
}
