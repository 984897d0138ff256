import { isFsfLibre, isOsiApproved, licensesOf } from '../../registry/archive/license.ts'
import { isObject } from '../../registry/archive/yaml.ts'
import { allows, parseConstraint } from '../../platform/pub/constraint.ts'
import type { NativeBuilds } from './native-builds.ts'
import { constraintOn, isNullSafe, throughDart3 } from './sdk-criterion.ts'
import type { PackageContents } from './unpack.ts'

/** Returns the tags that depend only on the metadata and files of a package, in pana's format. */
export function tagsOf({ pubspec, document, license }: PackageContents, builds: NativeBuilds): string[] {
  const dart = constraintOn(pubspec)
  const licenses = licensesOf(license?.text ?? null)
  const flags = {
    'is:plugin': pubspec.pluginPlatforms !== null,
    'is:null-safe': dart !== null && isNullSafe(dart),
    'is:dart3-compatible': dart !== null && isNullSafe(dart) && admitsDart3(dart),
    'is:swiftpm-plugin': builds.withoutSwiftPackage?.length === 0,
    'is:darwin-legacy-native-build': (builds.withoutSwiftPackage ?? []).length > 0,
    'is:built-in-kotlin': builds.usesBuiltInKotlin === true,
    'has:executable': pubspec.executables.length > 0,
    'has:screenshot': Array.isArray(document.screenshots) && document.screenshots.some(isObject),
    'license:osi-approved': licenses.length > 0 && licenses.every(isOsiApproved),
    'license:fsf-libre': licenses.length > 0 && licenses.every(isFsfLibre),
  }
  return [
    ...(licenses.length > 0 ? licenses : ['unknown']).map((id) => `license:${id.toLowerCase()}`),
    ...pubspec.topics.map((topic) => `topic:${topic}`),
    ...Object.entries(flags).flatMap(([tag, holds]) => (holds ? [tag] : [])),
  ]
}

function admitsDart3(constraint: ReturnType<typeof constraintOn>): boolean {
  const { min, max } = constraint ? throughDart3(constraint) : { min: null, max: null }
  const dart3 = parseConstraint('^3.0.0')
  if (!dart3?.min) return false
  const lowest = min?.version.release[0] === 3n ? min.version.text : dart3.min.version.text
  return allows({ min, max }, lowest)
}
