import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../platform/config/config.ts'
import type { Services } from '../../services.ts'
import { SdkInstall, type SdkKind } from './entity.ts'
import { attemptFolder, markName, thisPlatform } from './platform.ts'

/** An SDK that is usable on this machine. */
export type ReadySdk = Pick<ReturnType<typeof pathsOf>, 'path' | 'dart' | 'pubCache' | 'panaPath' | 'mark'> & {
  id: string
  kind: SdkKind
  version: string
  dartVersion: string
  panaVersion: string | null
}

type Placed = Pick<SdkInstall, 'id' | 'generation' | 'kind' | 'importedSha256'>

/** Returns the paths of an install. All paths are inside the install's folder. @throws RangeError for an id that is not a plain file name. */
export function pathsOf(config: Pick<Config, 'DATA_DIR'>, { id, generation, kind, importedSha256 }: Placed) {
  const folder = attemptFolder(config, { id, generation })
  const path = join(folder, 'sdk')
  const binaries = kind === 'dart' ? join(path, 'bin') : join(path, 'bin', 'cache', 'dart-sdk', 'bin')
  const pubCache = join(folder, 'pub-cache')
  return {
    folder,
    /** Imported and downloaded archives have different names, so that one is never mistaken for the other. */
    archive: join(folder, importedSha256 ? 'imported' : 'archive'),
    unpacking: join(folder, 'unpacking'),
    /** The unpacked archive. */
    path,
    dart: join(binaries, 'dart'),
    /** PUB_CACHE in which pana is activated. */
    pubCache,
    /** The pana script, which needs `dart` in PATH and the PUB_CACHE variable. */
    panaPath: join(pubCache, 'bin', 'pana'),
    /** Written last. An SDK without this file is incomplete, or removed. */
    mark: join(folder, markName),
  }
}

/** Returns the default SDK of a kind if it is ready and its folder exists on this machine, else null. */
export async function readySdk({ config, database }: Pick<Services, 'config' | 'database'>, kind: SdkKind): Promise<ReadySdk | null> {
  // Fast path for registries without an SDK: a tenth of the cost of loading the entity.
  if (!(await database.reads.get("select 1 from sdk_installs where kind = ? and is_default and status = 'ready'", kind))) return null
  const install = await database.fork().findOne(SdkInstall, { kind, isDefault: true })
  if (!install || !(await isUsable(config, install))) return null
  const { path, dart, pubCache, panaPath, mark } = pathsOf(config, install)
  const { id, version, dartVersion, panaVersion } = install
  return { id, kind, version, path, dart, dartVersion: dartVersion ?? version, pubCache, panaPath, mark, panaVersion: panaVersion ?? null }
}

/** Whether an install is ready and present on this machine. */
export async function isUsable(config: Pick<Config, 'DATA_DIR'>, install: SdkInstall): Promise<boolean> {
  if (install.status !== 'ready' || install.platform !== thisPlatform().sdkPlatform) return false
  try {
    await access(pathsOf(config, install).mark)
    return true
  } catch {
    // The mark is missing, or the id is not a file name.
    return false
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Environment variables for a job that runs from a Flutter SDK, which is a Git checkout. Git rejects repositories owned by another account. */
export const trustGit = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' }
