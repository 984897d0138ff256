import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyRequest } from 'fastify'
import { isOfJob } from '../../platform/access/token-secret.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import type { Services } from '../../services.ts'
import { dayOf } from './service.ts'

declare module '../../services.ts' {
  interface State {
    /** Downloads that are not yet in the database, by package, version and day. */
    downloads?: Map<string, Counted>
  }
}

type Counter = Pick<Services, 'state' | 'now' | 'metrics'>
type Counted = { name: string; version: string; day: number; downloads: number }

/**
 * Counts a download in memory; `saveDownloads` writes the counts to the database. Only requests that start at the beginning of the archive are
 * counted. Crawlers, mirrors and jobs of this server are ignored.
 */
export function countDownload({ state, now, metrics }: Counter, request: FastifyRequest, name: string, version: string): void {
  if (request.method !== 'GET' || isRobot(request.headers['user-agent']) || isOfJob(request.headers.authorization)) return
  metrics?.countDownload()
  recordDownloads({ state }, { name, version, day: dayOf(now()), downloads: 1 })
}

/** Adds downloads in memory; `saveDownloads` writes them to the database. */
export const recordDownloads = ({ state }: Pick<Services, 'state'>, downloads: Counted): void =>
  add((state.downloads ??= new Map<string, Counted>()), downloads)

/**
 * Writes the downloads counted since the last call in one transaction. Called every few seconds and at shutdown, so a killed process loses only a few
 * seconds of counts. Counts of several instances are added. If the write fails, the counts are kept for the next call.
 */
export async function saveDownloads({ database, state }: Pick<Services, 'database' | 'state'>): Promise<void> {
  const tally = state.downloads
  if (!tally || tally.size === 0) return
  const counted = [...tally.values()]
  tally.clear()
  try {
    await database.fork().transactional((em) => write(em, counted))
  } catch (error) {
    for (const one of counted) add(tally, one)
    throw error
  }
}

/** Whether the user agent belongs to a client that fetches every package: a search engine crawler or a mirror. */
export const isRobot = (userAgent: string | undefined): boolean => userAgent !== undefined && robots.test(userAgent)

const robots =
  /bot\b|bot[/;_-]|crawl|spider|slurp|archive\.org|mirror|artifactory|nexus|proget|cloudsmith|pulp|bandersnatch|headlesschrome|facebookexternalhit|preview/i

function add(tally: Map<string, Counted>, { name, version, day, downloads }: Counted): void {
  const key = `${name} ${version} ${day}`
  const known = tally.get(key)
  if (known) known.downloads += downloads
  else tally.set(key, { name, version, day, downloads })
}

/**
 * Adds counts to the database. Counts of deleted versions and packages are dropped. All instances write the tables, and the rows of each, in the same
 * order to avoid deadlocks.
 */
async function write(em: EntityManager, counted: Counted[]): Promise<void> {
  for (const sum of sums(counted, ({ name, version, day }) => `${name} ${version} ${day}`)) await changeRows(em, addToVersion(sum))
  for (const sum of sums(counted, ({ name, day }) => `${name} ${day}`)) await changeRows(em, addToPackage(sum))
  for (const sum of sums(counted, ({ name }) => name)) await changeRows(em, addToTotal(sum))
}

/** Sums counts with the same key and sorts them by key. */
function sums(counted: Counted[], keyOf: (one: Counted) => string): Counted[] {
  const sumOf = new Map<string, Counted>()
  for (const one of counted) {
    const downloads = (sumOf.get(keyOf(one))?.downloads ?? 0) + one.downloads
    sumOf.set(keyOf(one), { ...one, downloads })
  }
  return [...sumOf].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

const addToVersion = ({ name, version, day, downloads }: Counted) =>
  db
    .insertInto('version_downloads')
    .columns(['version_id', 'day', 'downloads'])
    .expression(
      db
        .selectFrom('package_versions as v')
        .innerJoin('packages as p', 'p.id', 'v.package_id')
        .select((eb) => [
          'v.id',
          eb.cast<number>(eb.val(day), 'integer').as('day'),
          eb.cast<number>(eb.val(downloads), 'bigint').as('downloads'),
        ])
        .where('p.name', '=', name)
        .where('v.version', '=', version),
    )
    .onConflict((known) =>
      known
        .columns(['version_id', 'day'])
        .doUpdateSet((eb) => ({ downloads: eb('version_downloads.downloads', '+', eb.ref('excluded.downloads')) })),
    )

const addToPackage = ({ name, day, downloads }: Omit<Counted, 'version'>) =>
  db
    .insertInto('package_downloads')
    .columns(['package_id', 'day', 'downloads'])
    .expression(
      db
        .selectFrom('packages')
        .select((eb) => [
          'id',
          eb.cast<number>(eb.val(day), 'integer').as('day'),
          eb.cast<number>(eb.val(downloads), 'bigint').as('downloads'),
        ])
        .where('name', '=', name),
    )
    .onConflict((known) =>
      known
        .columns(['package_id', 'day'])
        .doUpdateSet((eb) => ({ downloads: eb('package_downloads.downloads', '+', eb.ref('excluded.downloads')) })),
    )

const addToTotal = ({ name, downloads }: Pick<Counted, 'name' | 'downloads'>) =>
  db
    .updateTable('package_search_documents')
    .set((eb) => ({ downloads: eb('downloads', '+', downloads) }))
    .where('name', '=', name)
