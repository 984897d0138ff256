import { pubspecOf } from '../packages/versions/pubspec.ts'
import type { Package, PackageVersion } from '../packages/entity.ts'
import { type Tag, tagsOf } from '../search/tags.ts'

/**
 * What a version is tagged with, as pub.dev tags packages: its platforms and SDKs, license, topics and publisher, and what it is. Nobody's
 * names are among them, nor what it depends on.
 */
export function versionTags(pkg: Package, version: PackageVersion): Tag[] {
  return tagsOf({
    pubspec: { ...pubspecOf(version), dependencies: [] },
    publisher: pkg.publisher?.id ?? null,
    uploaderIds: [],
    license: version.license ?? null,
    isPublic: pkg.visibility === 'public',
    isUnlisted: pkg.isUnlisted,
    isDiscontinued: pkg.isDiscontinued,
    hasRetracted: version.retractedAt != null,
  })
}
