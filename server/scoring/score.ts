import { pubspecOf } from '../packages/versions/pubspec-view.ts'
import type { Package, PackageVersion } from '../packages/entity.ts'
import { type Tag, tagsOf } from '../search/tags.ts'

/**
 * What a version is tagged with, as pub.dev tags packages: its platforms and SDKs, license, topics and publisher, and what it is. Nobody's
 * names are among them, nor what it depends on.
 */
export function versionTags(pkg: Package, version: PackageVersion): Tag[] {
  const { topics, needsFlutter, platforms, pluginPlatforms } = pubspecOf(version)
  return tagsOf({
    publisher: pkg.publisher?.id ?? null,
    uploaderIds: [],
    topics,
    license: version.license ?? null,
    dependencies: [],
    needsFlutter,
    platforms: platforms.length > 0 ? platforms : (pluginPlatforms ?? []),
    isPlugin: pluginPlatforms !== null,
    isPublic: pkg.visibility === 'public',
    isUnlisted: pkg.isUnlisted,
    isDiscontinued: pkg.isDiscontinued,
    hasRetracted: version.retractedAt != null,
  })
}
