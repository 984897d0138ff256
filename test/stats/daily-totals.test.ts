import { expect, it } from 'vitest'
import { repairDailyTotals } from '../../server/operations/stats/samples.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const day = 20_000
const moments = {
  sqlite: `${day * 86_400_000}`,
  postgres: `to_timestamp(${day * 86_400})`,
}

/** Days with their publications and downloads, as stored. */
async function totalsOf({ services }: TestApp): Promise<number[][]> {
  const rows = await services.database.reads.all<Record<'day' | 'publications' | 'downloads', number | string>>(
    'select * from daily_totals where publications > 0 or downloads > 0 order by day',
  )
  return rows.map((row) => [Number(row.day), Number(row.publications), Number(row.downloads)])
}

it('counts publications and downloads per day and subtracts deleted ones', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const today = Math.floor(app.services.now().getTime() / 86_400_000)
  await publish(admin, { name: 'shop', version: '1.0.0' })
  await publish(admin, { name: 'shop', version: '1.1.0' })
  await publish(admin, { name: 'app', version: '1.0.0' })
  const em = app.services.database.fork()
  await em.execute(`insert into package_downloads (package_id, day, downloads) select id, ${day}, 5 from packages`)
  await em.execute(
    `update package_downloads set downloads = downloads + 2 where package_id = (select id from packages where name = 'shop')`,
  )
  await em.execute(`insert into package_downloads (package_id, day, downloads) select id, ${day + 1}, 1 from packages where name = 'app'`)
  expect(await totalsOf(app)).toEqual([
    [day, 0, 12],
    [day + 1, 0, 1],
    [today, 3, 0],
  ])
  await admin.delete('/api/admin/packages/shop/versions/1.0.0')
  await admin.delete('/api/admin/packages/app')
  expect(await totalsOf(app)).toEqual([
    [day, 0, 7],
    [today, 1, 0],
  ])
})

it('corrects totals that do not match the versions and downloads', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'shop', version: '1.0.0' })
  const { database } = app.services
  const em = database.fork()
  await em.execute(`insert into package_downloads (package_id, day, downloads) select id, ${day}, 5 from packages`)
  const right = await totalsOf(app)
  expect(right).toHaveLength(2)
  for (const damage of [
    'update daily_totals set publications = 7, downloads = 3',
    'delete from daily_totals',
    `update daily_totals set downloads = 9 where day = ${day}`,
  ]) {
    await em.execute(damage)
    await repairDailyTotals(app.services)
    expect(await totalsOf(app), damage).toEqual(right)
  }
  await em.execute(`update package_versions set created_at = ${moments[database.backend]}`)
  await repairDailyTotals(app.services)
  expect(await totalsOf(app)).toEqual([[day, 1, 5]])
})
