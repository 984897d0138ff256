import { ApiError } from '../../errors.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import { isObject, type Json, readYaml } from '../archive/yaml.ts'

/** Why a package is in a lock file: the application names it, as a dependency, dev dependency or override, or another package needs it. */
export const reasons = ['direct', 'dev', 'overridden', 'transitive'] as const
export type Reason = (typeof reasons)[number]

/** A hosted package in a lock file. `hostedUrl` is null for a package without a registry URL, `sha256` for one without the hash of its archive. */
export type LockedPackage = { name: string; version: string; reason: Reason; hostedUrl: string | null; sha256: string | null }

/** The packages of a lock file. `otherSources` is the number of packages from an SDK, a Git repository or a path. */
export type LockFile = { hosted: LockedPackage[]; otherSources: number }

/** Parses the content of a pubspec.lock. Returns a message if it is anything else. Source: `LockFile.parse` of the pub client. */
export function readLockFile(text: string): LockFile | { fault: string } {
  if (text.trim() === '') return { fault: 'The file is empty. Paste the content of pubspec.lock.' }
  try {
    const document = readYaml(text.replace(/^\ufeff/, ''), 'pubspec.lock')
    if ('packages' in document) return packagesOf(document.packages)
    return {
      fault:
        'name' in document || 'environment' in document
          ? 'This is a pubspec.yaml. Use the pubspec.lock next to it, which `dart pub get` writes.'
          : 'This is not a pubspec.lock: it has no field packages.',
    }
  } catch (error) {
    if (error instanceof ApiError) return { fault: `This is not a pubspec.lock: ${error.message}` }
    throw error
  }
}

function packagesOf(packages: Json | undefined): LockFile | { fault: string } {
  if (packages !== null && !isObject(packages)) return { fault: 'This is not a pubspec.lock: packages must be a mapping.' }
  const file: LockFile = { hosted: [], otherSources: 0 }
  for (const [name, entry] of Object.entries(packages ?? {})) {
    const { source, version, dependency, description }: { [key: string]: Json } = isObject(entry) ? entry : {}
    if (typeof source !== 'string') return { fault: `This is not a pubspec.lock: packages.${name.slice(0, 100)} has no source.` }
    if (source !== 'hosted') {
      file.otherSources += 1
      continue
    }
    if (typeof version !== 'string' || !parseVersion(version))
      return { fault: `packages.${name.slice(0, 100)} has no valid version. Write the file again with \`dart pub get\`.` }
    const { url, sha256 }: { [key: string]: Json } = isObject(description) ? description : {}
    file.hosted.push({ name, version, reason: reasonOf(dependency), hostedUrl: textOrNull(url), sha256: textOrNull(sha256) })
  }
  return file
}

const textOrNull = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null)

function reasonOf(dependency: Json | undefined): Reason {
  if (dependency === 'direct main') return 'direct'
  if (dependency === 'direct dev') return 'dev'
  return dependency === 'direct overridden' ? 'overridden' : 'transitive'
}
