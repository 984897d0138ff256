import type { EntityManager } from '@mikro-orm/sql'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Services } from '../services.ts'
import { SdkInstall, type SdkKind } from './entity.ts'
import { attemptFolder, thisPlatform } from './platform.ts'

/** An SDK that can be used on this machine. */
export type ReadySdk = {
  id: string
  kind: SdkKind
  version: string
  /** Its folder: what was in the archive. */
  path: string
  /** The program `dart`; that of Flutter's own Dart in a Flutter SDK. */
  dart: string
  dartVersion: string
  /** The PUB_CACHE in which pana is activated; to be read, not to be written to. */
  pubCache: string
  /** The script that runs pana; it needs `dart` in the PATH and PUB_CACHE. */
  panaPath: string
  panaVersion: string | null
  /** What is there as long as the SDK is whole. */
  mark: string
}

/** The name of the file that says that an SDK is whole. */
export const markName = 'ready'

type Placed = Pick<SdkInstall, 'id' | 'generation' | 'kind' | 'importedSha256'>

/**
 * Returns the paths of an install. All of them are in its folder, which is removed as a whole.
 * @throws RangeError for an id that could lead elsewhere.
 */
export function placesOf(config: Pick<Config, 'DATA_DIR'>, { id, generation, kind, importedSha256 }: Placed) {
  const folder = attemptFolder(config, { id, generation })
  const path = join(folder, 'sdk')
  const binaries = kind === 'dart' ? join(path, 'bin') : join(path, 'bin', 'cache', 'dart-sdk', 'bin')
  const pubCache = join(folder, 'pub-cache')
  return {
    folder,
    /** What was downloaded and verified; what was imported is never taken for it. */
    archive: join(folder, importedSha256 ? 'imported' : 'archive'),
    unpacking: join(folder, 'unpacking'),
    path,
    dart: join(binaries, 'dart'),
    pubCache,
    panaPath: join(pubCache, 'bin', 'pana'),
    /** Written last: an SDK without it is not whole. */
    mark: join(folder, markName),
  }
}

/**
 * The default SDK of a kind, when it is ready and its folder is on this machine; else null. Several instances share the folder DATA_DIR/sdks;
 * one that does not have it can use no SDK.
 */
export async function readySdk({ config, database }: Pick<Services, 'config' | 'database'>, kind: SdkKind): Promise<ReadySdk | null> {
  // Most registries have none, which is seen at a tenth of the cost of an entity.
  if (!(await database.reads.get("select 1 from sdk_installs where kind = ? and is_default and status = 'ready'", kind))) return null
  const install = await defaultInstall(database.fork(), kind)
  if (!install || !(await isUsable(config, install))) return null
  const { path, dart, pubCache, panaPath, mark } = placesOf(config, install)
  const { id, version, dartVersion, panaVersion } = install
  return { id, kind, version, path, dart, dartVersion: dartVersion ?? version, pubCache, panaPath, mark, panaVersion: panaVersion ?? null }
}

/** Whether an install can be used on this machine. */
export async function isUsable(config: Pick<Config, 'DATA_DIR'>, install: SdkInstall): Promise<boolean> {
  if (install.status !== 'ready' || install.platform !== thisPlatform().sdkPlatform) return false
  try {
    await stat(placesOf(config, install).mark)
    return true
  } catch {
    return false
  }
}

const defaultInstall = (em: EntityManager, kind: SdkKind) => em.findOne(SdkInstall, { kind, isDefault: true })
