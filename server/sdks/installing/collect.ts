import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Job } from '../../jobs/entity.ts'
import { handler } from '../../jobs/handler.ts'
import type { Services } from '../../services.ts'
import { SdkInstall } from '../entity.ts'
import { listFolders, removeFolder } from './folders.ts'
import { sdkRoot } from '../platform.ts'
import { installKind } from '../service.ts'

/** Removes the folders of an install that was removed or cancelled; not that of a later attempt at it. */
export const sdkRemoval = ({ config, database }: Services) =>
  handler(z.unknown(), async ({ subject }) => {
    const install = await database.fork().findOne(SdkInstall, { id: subject })
    for (const { id, generation, name } of await listFolders(config))
      if (id === subject && generation < (install?.generation ?? Number.POSITIVE_INFINITY)) await removeFolder(config, name)
  })

/** Folders that came within this time may be of an import whose record follows. */
const graceMs = 3_600_000

type Collected = Pick<Services, 'config' | 'database' | 'log'>

/** Removes folders that no install names, and ends installs whose job failed for good without saying so, as when each attempt killed the server. */
export async function collectSdks({ config, database, log }: Collected): Promise<void> {
  const em = database.fork()
  const installs = await em.find(SdkInstall, {}, { disableIdentityMap: true })
  const known = new Set(installs.map(({ id, generation }) => `${id}.${generation}`))
  for (const { name } of await listFolders(config)) {
    if (known.has(name)) continue
    // An import may have moved it meanwhile, and another instance removed it.
    const found = await stat(join(sdkRoot(config), name)).catch(() => null)
    if (!found || Date.now() - found.mtimeMs < graceMs) continue
    log.info(`removing ${name} from the folder of SDKs: no install names it`)
    await removeFolder(config, name)
  }
  for (const { id, generation, status } of installs) {
    if (status === 'ready' || status === 'failed') continue
    const [job] = await em.find(Job, { kind: installKind, subject: id }, { orderBy: { id: 'desc' }, limit: 1, disableIdentityMap: true })
    if (job && job.state !== 'failed') continue
    const errorMessage = job?.error ?? 'Its job is not there any more.'
    await em.nativeUpdate(SdkInstall, { id, generation, status }, { status: 'failed', errorMessage })
  }
}
