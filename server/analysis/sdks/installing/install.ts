import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { audit } from '../../../accounts/audit/service.ts'
import { handler, subjectId, type Work } from '../../../platform/jobs/handler.ts'
import type { Services } from '../../../services.ts'
import { download } from './download.ts'
import { SdkInstall } from '../entity.ts'
import {
  measureFolder,
  listFolders,
  removeSdkFolder,
  freeBytes,
  isOutOfSpace,
  requireSdkSpace,
  unpackedFactor,
  InstallRejected,
  attemptFolder,
} from '../platform.ts'
import { prepare } from './prepare.ts'
import { cancelInstall, isOver, installPayload, lockInstall, lockKind, noRelease, sdkTitle, sdkInstallKind } from '../service.ts'
import { exists, pathsOf } from '../ready.ts'
import { findRelease } from '../releases.ts'
import { Track } from './track.ts'
import { runTask } from '../unpack/run-task.ts'
import { diskFullMessage, UnpackRejected } from '../unpack/folder.ts'
import { adminCommand } from '../../../platform/config/version.ts'
import { Job } from '../../../platform/jobs/entity.ts'

/** From the 4th attempt on, an error is final. An attempt interrupted by a server crash is repeated, up to 10 attempts in total. */
const maxTries = 4
const maxAttempts = 10

const bounds = { entries: 400_000, bytes: 16 * 1024 ** 3 }

/**
 * Handles the job that downloads, unpacks and prepares an SDK. Each step ends with an atomic rename or starts with an empty folder, so a new attempt
 * resumes where the previous one was interrupted. The mark file is written last, before the database record becomes ready.
 */
export const sdkInstall = (services: Services) =>
  handler(
    installPayload,
    async (work, { generation }) => {
      const id = subjectId(work)
      const em = services.database.fork()
      const install = await em.findOne(SdkInstall, { id, generation }, { populate: ['log'] })
      if (!install) return removeSdkFolder(services.config, { id, generation })
      if (isOver(install)) return
      await attempt(services, new Track(services, install, work), work)
    },
    { maxAttempts, maxConcurrent: 1, onCancel: { lock: lockInstall, record: cancelInstall } },
  )

async function attempt(services: Services, track: Track, work: Work): Promise<void> {
  const { install } = track
  try {
    await runSteps(services, track)
  } catch (error) {
    // Saving the remaining log lines also updates `isObsolete`.
    if (work.signal.aborted) await track.close()
    if (track.isObsolete) return await removeSdkFolder(services.config, install)
    // The server is stopping or another process took over the job. The folder is kept for the next attempt.
    if (work.signal.aborted) throw error
    const reason = reasonOf(error)
    if (!isFinal(error) && work.attempt < maxTries) {
      track.addLine(`${reason} Retrying soon.`)
      throw error
    }
    track.addLine(reason)
    await removeSdkFolder(services.config, install)
    await track.close()
    await markFailed(services, install, reason)
  } finally {
    await track.close()
  }
}

async function runSteps(services: Services, track: Track): Promise<void> {
  const { config } = services
  const places = pathsOf(config, track.install)
  await mkdir(places.folder, { recursive: true, mode: 0o755 })
  if (!(await exists(places.path))) {
    if (!(await exists(places.archive))) await fetchArchive(services, places.archive, track)
    await unpack(services, places, track)
  }
  await track.begin('preparing', 'Testing the SDK …')
  const prepared = await prepare(services, places, track)
  const sizeBytes = await measureFolder(places.folder)
  await writeFile(places.mark, '')
  track.signal.throwIfAborted()
  track.addLine(`${sdkTitle(track.install)} is ready.`)
  await track.close()
  // The install was removed or cancelled just before it completed.
  if (!(await markReady(services, track.install, { ...prepared, sizeBytes }))) return removeSdkFolder(config, track.install)
  for (const one of await listFolders(config))
    if (one.id === track.install.id && one.generation < track.install.generation) await removeSdkFolder(config, one)
}

async function fetchArchive(services: Services, path: string, track: Track): Promise<void> {
  const { install } = track
  if (install.importedSha256)
    throw new InstallRejected(`The imported archive no longer exists. Import it again: ${adminCommand} import-sdk <file>`)
  await track.begin('downloading', `Downloading ${sdkTitle(install)} (${install.channel}, ${install.platform}) …`)
  const found = await findRelease(services, install)
  if (!found) throw new InstallRejected(noRelease(install))
  track.addLine(found.url)
  await download(services.config, found, path, track)
}

async function unpack({ config }: Services, { archive, unpacking, path }: ReturnType<typeof pathsOf>, track: Track): Promise<void> {
  const { kind, importedSha256 } = track.install
  await track.begin('extracting', 'Unpacking …')
  if (importedSha256 && (await runTask({ do: 'hash', archive }, z.string(), { signal: track.signal })) !== importedSha256)
    throw new InstallRejected(`The imported archive changed on disk. Import it again: ${adminCommand} import-sdk <file>`)
  await requireSdkSpace(config, unpackedFactor * (await stat(archive)).size)
  const top = kind === 'dart' ? 'dart-sdk' : 'flutter'
  const task = {
    do: 'unpack',
    archive,
    into: unpacking,
    top,
    bounds: { ...bounds, freeBytes: config.MIN_FREE_BYTES },
    availableBytes: (await freeBytes(config)) - config.MIN_FREE_BYTES,
  } as const
  const { entries, bytes } = await runTask(task, z.object({ entries: z.number(), bytes: z.number() }), {
    signal: track.signal,
    onProgress: (done, total) => track.report(done, total),
  })
  track.addLine(`Unpacked ${entries} entries, ${bytes} bytes.`)
  await rename(unpacking, path)
  await rm(archive)
}

/** Marks an install as ready, and as the default if its kind has none. Returns false when the install was removed or restarted. */
async function markReady(
  { database, now }: Services,
  { id, generation, kind, version, channel, requestedById }: SdkInstall,
  found: { dartVersion: string; panaVersion: string | null; sizeBytes: number },
): Promise<boolean> {
  return database.fork().transactional(async (em) => {
    await lockKind(em, kind)
    const ready = { status: 'ready', readyAt: now(), bytesDone: found.sizeBytes, bytesTotal: found.sizeBytes, errorMessage: null } as const
    if (!(await em.nativeUpdate(SdkInstall, { id, generation }, { ...found, ...ready }))) return false
    const others = await em.count(SdkInstall, { kind, isDefault: true })
    if (others === 0) await em.nativeUpdate(SdkInstall, { id }, { isDefault: true })
    const actor = requestedById ? { id: requestedById } : null
    audit(em, { kind: 'server.sdk_installed', actor, summary: `Installed ${sdkTitle({ kind, version })} (${channel})` })
    return true
  })
}

const markFailed = ({ database }: Services, { id, generation }: SdkInstall, reason: string): Promise<number> =>
  database.fork().nativeUpdate(SdkInstall, { id, generation }, { status: 'failed', errorMessage: reason.slice(0, 1000) })

const isFinal = (error: unknown): boolean => error instanceof InstallRejected || error instanceof UnpackRejected || isOutOfSpace(error)

function reasonOf(error: unknown): string {
  if (isOutOfSpace(error)) return diskFullMessage
  return error instanceof Error ? error.message : String(error)
}

/** Handles the job that deletes the folders of a removed or cancelled install. Keeps the folders of later attempts of the same install. */
export const sdkRemoval = ({ config, database }: Services) =>
  handler(z.unknown(), async (work) => {
    const id = subjectId(work)
    const install = await database.fork().findOne(SdkInstall, { id })
    for (const attempt of await listFolders(config))
      if (attempt.id === id && attempt.generation < (install?.generation ?? Number.POSITIVE_INFINITY))
        await removeSdkFolder(config, attempt)
  })

/** Minimum age in milliseconds of SDK folders to delete. Newer ones may belong to an import that has not created its database record yet. */
const graceMs = 3_600_000

type Collected = Pick<Services, 'config' | 'database' | 'log'>

/** Deletes folders without a database record, and marks installs as failed whose job failed permanently, for example by a crash. */
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
    await removeSdkFolder(config, attempt)
  }
  for (const { id, generation, status } of installs) {
    if (status === 'ready' || status === 'failed') continue
    const [job] = await em.find(Job, { kind: sdkInstallKind, subject: id }, { orderBy: { id: 'desc' }, limit: 1, disableIdentityMap: true })
    if (job && job.state !== 'failed') continue
    const errorMessage = job?.error ?? 'The install job no longer exists.'
    await em.nativeUpdate(SdkInstall, { id, generation, status }, { status: 'failed', errorMessage })
  }
}
