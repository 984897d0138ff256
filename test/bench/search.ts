import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../server/db/orm.ts'
import { newId } from '../../server/db/base.ts'
import { storeDocument } from '../../server/search/index-package.ts'
import { searchPackages } from '../../server/search/service.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { fillIndex } from './fill-index.ts'
import { generatePackages } from './generate-packages.ts'

// node test/bench/search.ts [packages] [sqlite|postgres]: how long searches and indexing take.
const count = Number(process.argv[2] ?? 10_000)
const backend = process.argv[3] === 'postgres' ? 'postgres' : 'sqlite'

const queries: Record<string, string[]> = {
  'exact name': Array.from(generatePackages(60, 1), ({ name }) => name).slice(20),
  rare: ['nalule', 'vosudi', 'busume', 'ronuma', 'boti'],
  'two words': ['json parser', 'oauth session', 'barcode scanner', 'image picker', 'audio player'],
  middling: ['oauth', 'bluetooth', 'carousel', 'sqlite', 'payment'],
  'two letters': ['fl', 'wi', 'ui', 'sq', 'bl'],
  'very common': ['flutter', 'widget', 'http client', 'easy flutter', 'the'],
  typo: ['bluetoth', 'flutter_widgte', 'carosel', 'sqlte_client', 'pyament'],
  'all, newest': [''],
}

const somebody = { id: newId(), role: 'member' } as const

const directory = mkdtempSync(join(tmpdir(), 'snug-search-'))
const server = backend === 'postgres' ? await startPostgres() : undefined
const database = await openDatabase({ DB_BACKEND: backend, SQLITE_PATH: join(directory, 'search.sqlite'), POSTGRES_URL: server?.url })
try {
  const filled = await fillIndex(database, count)
  console.log(`${backend}, ${count} packages: indexing p50 ${at(filled, 0.5)} ms, p99 ${at(filled, 0.99)} ms, max ${at(filled, 1)} ms`)
  if (backend === 'postgres') await database.fork().execute('vacuum analyze')
  for (const [kind, list] of Object.entries(queries)) await measure(kind, list)
  await publishing(database)
} finally {
  await database.close()
  await server?.stop()
  rmSync(directory, { recursive: true })
}

async function measure(kind: string, list: string[]) {
  const [pages, counted, suggested]: number[][] = [[], [], []]
  let found = 0
  for (let round = 0; round < 15; round++) {
    for (const query of list) {
      let started = performance.now()
      const { totalCount, didYouMean } = await searchPackages(database, { query, limit: 50, audience: somebody })
      pages?.push(performance.now() - started)
      started = performance.now()
      found += await totalCount()
      counted?.push(performance.now() - started)
      started = performance.now()
      if (kind === 'typo') await didYouMean()
      suggested?.push(performance.now() - started)
    }
  }
  const suggestions = kind === 'typo' ? `, suggestions p50 ${at(suggested, 0.5)}` : ''
  console.log(
    `${kind.padEnd(12)} page p50 ${at(pages, 0.5)} max ${at(pages, 1)}, count p50 ${at(counted, 0.5)} max ${at(counted, 1)}${suggestions} (found ${Math.round(found / 15 / list.length)})`,
  )
}

/** One package per transaction into the full index, as publishing does: new ones, then the same again with other texts. */
async function publishing(database: Database) {
  const texts = [...generatePackages(300, 7)]
  const ids = texts.map(() => newId())
  for (const round of ['new', 'again']) {
    const times: number[] = []
    for (const [index, packageId] of ids.entries()) {
      const pkg = texts[(index + (round === 'new' ? 0 : 1)) % texts.length]
      if (!pkg) continue
      const moment = database.backend === 'sqlite' ? Date.now() : new Date()
      await database.fork().transactional(async (em) => {
        if (round === 'new') {
          const sql =
            "insert into packages (id, created_at, name, updated_at, description, latest_version) values (?, ?, ?, ?, '', '1.0.0')"
          await em.execute(sql, [packageId, moment, `published_${index}`, moment])
        }
        const started = performance.now()
        await storeDocument(em, { ...pkg, packageId, name: `published_${index}` })
        times.push(performance.now() - started)
      })
    }
    console.log(`publishing ${round}: indexing p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms, max ${at(times, 1)} ms`)
  }
}

function at(times: number[] = [], share: number): string {
  const sorted = times.toSorted((a, b) => a - b)
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)
}
