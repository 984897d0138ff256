import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { constants } from 'node:fs'
import { copyFile, mkdir, rename, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { newId } from '../../../platform/db/base.ts'
import { conflict, invalidInput } from '../../../errors.ts'
import { parseVersion } from '../../../platform/pub/version.ts'
import { type SdkChannel, sdkChannels, SdkInstall, type SdkKind } from '../entity.ts'
import { removeSdkFolder, thisPlatform, requireSdkSpace, unpackedFactor } from '../platform.ts'
import { pathsOf } from '../ready.ts'
import { enqueueInstall, restartIn, sdkTitle } from '../service.ts'
import { runTask } from '../unpack/run-task.ts'

type Import = { em: EntityManager; config: Pick<Config, 'DATA_DIR' | 'MIN_FREE_BYTES'> }
type Found = { kind: SdkKind; version: string; channel: SdkChannel }

/**
 * Copies an SDK archive from a local file, and enqueues its install job, which a running server picks up immediately. @throws ApiError InvalidInput
 * when the file is not an SDK archive; Conflict while the SDK is being installed; InstallRejected without enough disk space.
 */
export async function importSdk({ em, config }: Import, path: string, now: Date): Promise<SdkInstall> {
  const found = await inspect(path)
  const importedSha256 = await runTask({ do: 'hash', archive: path }, z.string())
  const { size } = await stat(path)
  await requireSdkSpace(config, (1 + unpackedFactor) * size)
  const known = await em.findOne(SdkInstall, found)
  if (known && known.status !== 'ready' && known.status !== 'failed') throw beingInstalled(found)
  // The copy gets a temporary folder: a concurrent import of the same SDK may win the install's own folder.
  const attempt = { id: newId(), generation: 0 }
  const copy = pathsOf(config, { ...found, ...attempt, importedSha256 })
  await mkdir(copy.folder, { recursive: true, mode: 0o755 })
  try {
    await copyFile(path, copy.archive, constants.COPYFILE_FICLONE)
    return await em.fork().transactional(async (inner) => {
      const install = known
        ? await restartIn(inner, known.id, ['ready', 'failed'], now, { status: 'extracting', importedSha256 })
        : await create(inner, { ...found, importedSha256 }, now)
      if (!install) throw beingInstalled(found)
      await removeSdkFolder(config, install) // left by an import whose transaction was cut off
      await rename(copy.folder, pathsOf(config, install).folder)
      return install
    })
  } catch (error) {
    await removeSdkFolder(config, attempt)
    throw error instanceof UniqueConstraintViolationException ? beingInstalled(found) : error
  }
}

const beingInstalled = (found: Found) => conflict(`${sdkTitle(found)} is being installed. Wait until it is ready, or remove it first.`)

async function create(em: EntityManager, found: Found & { importedSha256: string }, now: Date): Promise<SdkInstall> {
  const { sdkPlatform: platform } = thisPlatform()
  const install = em.create(SdkInstall, { ...found, platform, status: 'extracting' })
  await em.flush()
  await enqueueInstall(em, install, now)
  return install
}

const places = { dart: 'dart-sdk/version', flutter: 'flutter/version', flutterJson: 'flutter/bin/cache/flutter.version.json' }
const described = z.object({ frameworkVersion: z.string(), channel: z.string().optional() })

/** Reads the kind, version and channel of the SDK in an archive. */
async function inspect(path: string): Promise<Found> {
  const texts = await runTask({ do: 'read', archive: path, paths: Object.values(places) }, z.record(z.string(), z.string()))
  const { [places.dart]: dart, [places.flutter]: flutter, [places.flutterJson]: json } = texts
  const framework = json === undefined ? null : described.parse(JSON.parse(json))
  const kind = dart === undefined ? 'flutter' : 'dart'
  const version = (dart ?? framework?.frameworkVersion ?? flutter)?.trim()
  if (version === undefined) throw invalidInput(`${path} is not an archive of a Dart or Flutter SDK: it has no version file.`)
  if (!parseVersion(version))
    throw invalidInput(`${path} has the invalid version ${JSON.stringify(version.slice(0, 80))}. Expected a version such as 3.5.0.`)
  return { kind, version, channel: sdkChannels.find((one) => one === framework?.channel) ?? channelOf(version) }
}

/** Derives the channel from a version such as `3.6.0-149.3.beta`, `3.7.0-5.0.dev` or, for Flutter, `3.24.0-0.1.pre`. */
function channelOf(version: string): SdkChannel {
  const last = /-.*?([a-z]+)$/.exec(version)?.[1]
  return last === undefined ? 'stable' : last === 'dev' ? 'dev' : 'beta'
}
