import { expect, it } from 'vitest'
import { packageData, versionData } from '../../server/registry/restoration/data.ts'
import { testApp } from '../app.ts'

/** Tables whose rows come back with a restored package. */
const kept = ['package_versions', 'package_uploaders', 'package_likes', 'package_watches', 'package_downloads', 'trusted_publishers']
const keptOfVersions = ['version_documents', 'package_dependencies', 'version_downloads', 'version_provenances']
/** Tables that the analysis of a version fills again. */
const derived = ['score_reports', 'version_surfaces', 'version_api_verdicts', 'version_docs']

/** Columns that other data determines: identifiers, counters and what is computed from the name or the versions. */
const computed = {
  Package: ['id', 'name', 'skeleton', 'updatedAt', 'description', 'latestPrerelease', 'publisher'],
  PackageVersion: ['id', 'package', 'version', 'archiveSha256', 'archiveBytes', 'publishedBy'],
}

it('keeps or makes again every row and column that a deletion removes', async () => {
  await using app = await testApp()
  const all = [...app.services.database.orm.getMetadata().getAll().values()]
  const deletedAlong = (...parents: string[]) =>
    all.filter(({ props }) =>
      props.some(({ deleteRule, targetMeta }) => deleteRule === 'cascade' && parents.includes(targetMeta?.tableName ?? '')),
    )
  const names = deletedAlong('packages', 'package_versions').map(({ tableName }) => tableName)
  expect(names.toSorted()).toEqual([...kept, ...keptOfVersions, ...derived].toSorted())
  const columnsOf = (table: string) => Object.keys(all.find(({ tableName }) => tableName === table)?.properties ?? {})
  const missing = (columns: string[], known: string[], shape: object) => columns.filter((name) => !known.includes(name) && !(name in shape))
  expect(missing(columnsOf('packages'), computed.Package, packageData.shape)).toEqual([])
  expect(missing(columnsOf('package_versions'), computed.PackageVersion, versionData.shape)).toEqual([])
})
