import { dayOf } from '../../server/registry/downloads/service.ts'
import { insertRows } from '../../server/platform/db/statements.ts'
import type { TestApp } from '../app.ts'
import { versionId } from './reports.ts'

/** Stores downloads of a version: pairs of how many days ago, and how many downloads. */
export async function storeDownloads(
  app: TestApp,
  name: string,
  version: string,
  downloads: [daysAgo: number, amount: number][],
): Promise<void> {
  const em = app.services.database.fork()
  const id = await versionId(app, name, version)
  const today = dayOf(app.services.now())
  const [{ package_id: packageId }] = await em.execute<[{ package_id: string }]>('select package_id from package_versions where id = ?', [
    id,
  ])
  const rows = downloads.map(([daysAgo, amount]) => ({ day: today - daysAgo, downloads: amount }))
  await em.transactional(async (inside) => {
    await insertRows(
      inside,
      'version_downloads',
      rows.map((row) => ({ version_id: id, ...row })),
    )
    for (const { day, downloads: amount } of rows)
      await inside.execute(
        `insert into package_downloads as kept (package_id, day, downloads) values (?, ?, ?)
         on conflict (package_id, day) do update set downloads = kept.downloads + excluded.downloads`,
        [packageId, day, amount],
      )
    const recent = downloads.reduce((sum, [daysAgo, amount]) => sum + (daysAgo < 30 ? amount : 0), 0)
    await inside.execute('update package_search_documents set downloads = downloads + ? where package_id = ?', [recent, packageId])
  })
}
