import { newId } from '../../server/db/base.ts'
import type { Database } from '../../server/db/orm.ts'
import { storeDocument } from '../../server/search/index-package.ts'
import { type GeneratedPackage, generatePackages } from './generate-packages.ts'

/** Stores generated packages and indexes them. Gives each one's indexing time, in milliseconds. */
export async function fillIndex(database: Database, count: number, perTransaction = 200): Promise<number[]> {
  const times: number[] = []
  let batch: GeneratedPackage[] = []
  for (const pkg of generatePackages(count)) {
    batch.push(pkg)
    if (batch.length === perTransaction) batch = await store(database, batch, times)
  }
  await store(database, batch, times)
  return times
}

async function store(database: Database, batch: GeneratedPackage[], times: number[]): Promise<[]> {
  await database.fork().transactional(async (em) => {
    for (const pkg of batch) {
      const packageId = newId()
      const moment = (date: Date) => (database.backend === 'sqlite' ? date.getTime() : date)
      await em.execute('insert into packages (id, created_at, name, updated_at, description, latest_version) values (?, ?, ?, ?, ?, ?)', [
        packageId,
        moment(pkg.createdAt),
        pkg.name,
        moment(pkg.updatedAt),
        pkg.description,
        '1.0.0',
      ])
      const started = performance.now()
      await storeDocument(em, { packageId, ...pkg })
      times.push(performance.now() - started)
    }
  })
  return []
}
