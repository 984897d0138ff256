import { newId } from '../../server/platform/db/base.ts'
import type { Database } from '../../server/platform/db/open/orm.ts'
import { skeletonOf } from '../../server/registry/names/service.ts'
import { storeDocument } from '../../server/registry/search/index-package.ts'
import type { BareEngine } from './bare-engine.ts'
import { type GeneratedPackage, generatePackages } from './generate-packages.ts'

/** Stores and indexes generated packages, also in the baseline search if given. Returns the indexing time of each package in milliseconds. */
export async function fillIndex(database: Database, count: number, bare?: BareEngine, perTransaction = 200): Promise<number[]> {
  const times: number[] = []
  let batch: GeneratedPackage[] = []
  for (const pkg of generatePackages(count)) {
    batch.push(pkg)
    if (batch.length === perTransaction) batch = await store(database, batch, times, bare)
  }
  await store(database, batch, times, bare)
  return times
}

async function store(database: Database, batch: GeneratedPackage[], times: number[], bare?: BareEngine): Promise<[]> {
  await database.fork().transactional(async (em) => {
    for (const pkg of batch) {
      const packageId = newId()
      const moment = (date: Date) => (database.backend === 'sqlite' ? date.getTime() : date)
      await em.execute(
        'insert into packages (id, created_at, name, skeleton, updated_at, description, latest_version) values (?, ?, ?, ?, ?, ?, ?)',
        [packageId, moment(pkg.createdAt), pkg.name, skeletonOf(pkg.name), moment(pkg.updatedAt), pkg.description, '1.0.0'],
      )
      const started = performance.now()
      await storeDocument(em, { packageId, ...pkg, shownTo: pkg.tags.includes('is:public') ? 2 : 1 })
      times.push(performance.now() - started)
      await bare?.add(em, times.length, pkg)
    }
  })
  return []
}
