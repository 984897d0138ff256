import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../platform/db/batched.ts'
import { readRows } from '../../platform/db/statements.ts'
import { pubspecOf } from '../../registry/packages/versions/pubspec.ts'
import type { Package, PackageVersion } from '../../registry/packages/entity.ts'
import { type Tag, tagsOf } from '../../registry/search/tags.ts'

/** Returns the tags of a version, as on pub.dev: platforms, SDKs, license, topics, publisher and flags. Excludes uploaders and dependencies. */
export async function versionTags(reader: { em: EntityManager }, pkg: Package, version: PackageVersion): Promise<Tag[]> {
  return tagsOf({
    pubspec: { ...pubspecOf(version), dependencies: [] },
    publisher: pkg.publisher?.id ?? null,
    uploaderIds: [],
    license: version.license ?? null,
    isPublic: pkg.visibility === 'public',
    isUnlisted: pkg.isUnlisted,
    isDiscontinued: pkg.isDiscontinued,
    hasRetracted: version.retractedAt != null,
    analyzed: (await loadTags(reader, version.id)) ?? [],
  })
}

const loadTags = batched(async (em, ids) => {
  const rows = await readRows<{ version_id: string; tags: string }>(
    em,
    `select version_id, tags from score_reports where version_id in (${ids.map(() => '?').join(', ')}) and tags <> ''`,
    ids,
  )
  return new Map(rows.map((row) => [row.version_id, row.tags.split(' ')]))
})
