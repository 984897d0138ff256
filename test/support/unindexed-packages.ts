import { newId } from '../../server/platform/db/base.ts'
import { Package, PackageVersion } from '../../server/registry/packages/entity.ts'
import { versionKey } from '../../server/platform/pub/version.ts'
import type { TestApp } from '../app.ts'

/** Adds packages with one version each to the database, without search index entries. */
export async function addPackages({ services }: TestApp, count: number): Promise<void> {
  const em = services.database.fork()
  const createdAt = new Date()
  const packages = Array.from({ length: count }, (_, index) => ({ id: newId(), name: `pkg_${index}` }))
  const fields = { latestVersion: '1.0.0', latestPrerelease: null, revision: 1, createdAt, updatedAt: createdAt }
  await em.insertMany(
    Package,
    packages.map((one) => ({ ...one, description: `The package ${one.name}`, ...fields })),
  )
  await em.insertMany(
    PackageVersion,
    packages.map(({ id, name }) => ({
      id: newId(),
      package: id,
      version: '1.0.0',
      sortKey: versionKey('1.0.0'),
      isPrerelease: false,
      archiveSha256: '0'.repeat(64),
      archiveBytes: 1,
      archiveCrc32c: 'AAAAAA==',
      pubspec: JSON.stringify({ name, version: '1.0.0', topics: ['testing'], environment: { sdk: '^3.0.0' } }),
      createdAt,
    })),
  )
}
