import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../server/platform/config/config.ts'
import { newId } from '../../server/platform/db/base.ts'
import { openLog } from '../../server/platform/http/log.ts'
import { openServices } from '../../server/open-services.ts'
import type { Services } from '../../server/services.ts'
import { completeQuery, searchPackages } from '../../server/registry/search/service.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { type BareEngine, bareEngine } from './bare-engine.ts'
import { fillIndex } from './fill-index.ts'
import { generatePackages } from './generate-packages.ts'
import { compareGrowth } from './growth.ts'

// node test/bench/search.ts [packages] [sqlite|postgres]: compares searches with the baseline search, and checks that publishing and listing do not
// slow down as the registry grows. Exits with 1 if a bound is missed.
const count = Number(process.argv[2] ?? 10_000)
const backend = process.argv[3] === 'postgres' ? 'postgres' : 'sqlite'
const atMost = count <= 10_000 ? 5 : backend === 'sqlite' ? 30 : 100
const rounds = 15

/** Queries as words and tags. The bound applies if `bounded` is true. */
type Kind = { bounded: boolean; queries: { words: string[]; tags: string[] }[] }
const words = (...texts: string[]): Kind => ({ bounded: true, queries: texts.map((text) => ({ words: text.split(' '), tags: [] })) })

const kinds: Record<string, Kind> = {
  'exact name': { ...words(...Array.from(generatePackages(60, 1), ({ name }) => name.replaceAll('_', ' ')).slice(20)), bounded: false },
  rare: words('nalule', 'vosudi', 'busume', 'ronuma', 'boti'),
  'two words': words('json parser', 'oauth session', 'barcode scanner', 'image picker', 'audio player'),
  middling: words('oauth', 'bluetooth', 'carousel', 'sqlite', 'payment'),
  'two letters': words('fl', 'wi', 'ui', 'sq', 'bl'),
  'very common': { ...words('flutter', 'widget', 'http client', 'easy flutter', 'the'), bounded: false },
  typo: words('bluetoth', 'carosel', 'pyament', 'paresr', 'sqltie'),
  'filtered, few': filtered(['json', 'oauth', 'payment'], ['publisher:publisher-3']),
  'filtered, many': filtered(['json', 'oauth', 'payment'], ['sdk:dart', 'license:mit']),
  'filter alone, few': filtered([''], ['publisher:publisher-3', 'platform:web']),
  'filter alone, many': filtered([''], ['sdk:flutter', 'license:mit']),
}

function filtered(texts: string[], tags: string[]): Kind {
  return { bounded: true, queries: texts.map((text) => ({ words: text ? [text] : [], tags })) }
}

const searcher = { id: newId(), scopes: new Set(['read'] as const) }
const directory = mkdtempSync(join(tmpdir(), 'snug-search-'))
const servers = backend === 'postgres' ? [await startPostgres(), await startPostgres()] : []
const [many, few] = [await open('many'), await open('few')]
try {
  const bare = await bareEngine(many.database)
  const filling = await fillIndex(many.database, count, bare)
  await fillIndex(few.database, 1000)
  if (backend === 'postgres') for (const { database } of [many, few]) await database.fork().execute('vacuum analyze')
  console.log(
    `${backend}, ${count} packages; indexing one: p50 ${show(at(filling, 0.5))} ms, p99 ${show(at(filling, 0.99))} ms. Milliseconds, p50:`,
  )
  console.log('query                 page   bare  bound      with count  with facets  completion  max page  found')
  let held = true
  for (const [name, kind] of Object.entries(kinds)) held = (await measure(many, bare, name, kind)) && held
  console.log(`\nfrom 1,000 to ${count} packages      few     many   growth`)
  for (const { what, few: before, many: after } of await compareGrowth(
    { services: few, packages: 1000 },
    { services: many, packages: count },
  )) {
    console.log(`${what.padEnd(28)} ${show(before)} ${show(after)}   ${((after / before - 1) * 100).toFixed(0)} %`)
    held = held && after <= before * 1.2
  }
  if (!held) process.exitCode = 1
} finally {
  for (const { database } of [many, few]) await database.close()
  for (const server of servers) await server.stop()
  rmSync(directory, { recursive: true })
}

async function measure({ database, config: here }: Services, bare: BareEngine, name: string, { bounded, queries }: Kind): Promise<boolean> {
  const [pages, bares, counts, facets, completions]: [number[], number[], number[], number[], number[]] = [[], [], [], [], []]
  let found = 0
  for (let round = 0; round < rounds; round++) {
    for (const { words: wanted, tags } of queries) {
      const query = [...wanted, ...tags].join(' ')
      const page = await timed(pages, async () => {
        const answer = await searchPackages(database, { searcher, here, query, limit: 50 })
        if (name === 'typo') await answer.didYouMean()
        return answer
      })
      await timed(bares, async () => (await bare.search(wanted, tags)) || (name === 'typo' && (await bare.similar(wanted[0] ?? ''))))
      found += await timed(counts, () => page.totalCount())
      await timed(facets, () => page.facets())
      await timed(completions, () => completeQuery(database, searcher, query, 8))
    }
  }
  const [page, its] = [at(pages, 0.5), at(bares, 0.5)]
  const bound = Math.min(2 * its + 1, atMost)
  const verdict = !bounded ? '      ' : page <= bound ? 'held  ' : 'MISSED'
  const others = [page + at(counts, 0.5), page + at(facets, 0.5), at(completions, 0.5), at(pages, 1)].map((time) => show(time).padStart(10))
  console.log(
    `${name.padEnd(18)} ${show(page)} ${show(its)} ${show(bound)} ${verdict} ${others.join('  ')} ${String(Math.round(found / rounds / queries.length)).padStart(7)}`,
  )
  return !bounded || page <= bound
}

async function timed<Result>(times: number[], work: () => Promise<Result>): Promise<Result> {
  const started = performance.now()
  const result = await work()
  times.push(performance.now() - started)
  return result
}

async function open(name: string): Promise<Services> {
  const postgres = { DB_BACKEND: 'postgres', POSTGRES_URL: servers[name === 'many' ? 0 : 1]?.url ?? '' }
  const config = readConfig({
    SERVER_URL: 'http://localhost:8080',
    JWT_SECRET: 'a secret for benchmarks that is long enough',
    NODE_ENV: 'test',
    BCRYPT_COST: '4',
    DATA_DIR: join(directory, name),
    ...(backend === 'postgres' && postgres),
  })
  return openServices(config, openLog('error'))
}

function at(times: number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function show(time: number): string {
  return time.toFixed(2).padStart(6)
}
