import { describePubspec, type Pubspec } from '../../archive/pubspec.ts'
import { isObject, type Json } from '../../archive/yaml.ts'
import type { PackageVersion } from '../entity.ts'

/** Returns the parsed pubspec of a version. Cached for as long as the version entity is in memory. */
export function pubspecOf(version: PackageVersion): Pubspec {
  let pubspec = pubspecs.get(version)
  if (!pubspec) pubspecs.set(version, (pubspec = storedPubspec(version.pubspec)))
  return pubspec
}

/** Parses a stored pubspec. */
export function storedPubspec(text: string): Pubspec {
  const document = JSON.parse(text) as Json
  return describePubspec(isObject(document) ? document : {})
}

const pubspecs = new WeakMap<PackageVersion, Pubspec>()
