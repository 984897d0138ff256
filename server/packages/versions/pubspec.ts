import { describePubspec, type Pubspec } from '../../archive/pubspec.ts'
import { isObject, type Json } from '../../archive/yaml.ts'
import type { PackageVersion } from '../entity.ts'

/** What the pubspec of a version says, read once per version in memory. */
export function pubspecOf(version: PackageVersion): Pubspec {
  let pubspec = pubspecs.get(version)
  if (!pubspec) pubspecs.set(version, (pubspec = storedPubspec(version.pubspec)))
  return pubspec
}

/** The same from the text that is stored. */
export function storedPubspec(text: string): Pubspec {
  const document = JSON.parse(text) as Json
  return describePubspec(isObject(document) ? document : {})
}

const pubspecs = new WeakMap<PackageVersion, Pubspec>()
