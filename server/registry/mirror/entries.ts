import { toDate } from '../../platform/db/reads.ts'
import { changeRows, readRow } from '../../platform/db/statements.ts'
import { isRefusedForMove } from '../../platform/db/unavailable.ts'
import { openSideStore, removeUnreferenced, trimRows } from '../../platform/store/side-store.ts'
import type { BlobStore } from '../../platform/blobs/store.ts'
import type { Services } from '../../services.ts'
import type { MirrorKind } from './entity.ts'

declare module '../../services.ts' {
  interface State {
    /** Store of the files of the mirror. */
    mirrorStore?: Promise<BlobStore>
    mirrorReads?: Partial<Record<MirrorKind, ReadCounts>>
  }
}

/** How a request to the mirror ended: without or with a request upstream, with a document that is older than it should be, or with status 403. */
export type ReadResult = 'hit' | 'miss' | 'stale' | 'refused'
export type ReadCounts = Record<ReadResult, number>

/** Counts a read of the mirror by this process. */
export function countRead({ state }: Pick<Services, 'state'>, kind: MirrorKind, result: ReadResult): void {
  const counts = (state.mirrorReads ??= {})
  const ofKind = (counts[kind] ??= { hit: 0, miss: 0, stale: 0, refused: 0 })
  ofKind[result]++
}

/** Files that this process has read from the mirror since it started, and how many of them needed no request to the upstream server. */
export function readsOf({ state }: Pick<Services, 'state'>): { reads: number; hits: number } {
  const all = Object.values(state.mirrorReads ?? {})
  const sum = (count: (counts: ReadCounts) => number) => all.reduce((total, counts) => total + count(counts), 0)
  return { reads: sum(({ hit, miss, stale }) => hit + miss + stale), hits: sum(({ hit }) => hit) }
}

/** What the mirror needs of the services. Commands that run outside of the server have only these. */
export type MirrorServices = Pick<Services, 'caches' | 'config' | 'log' | 'now' | 'state' | 'stopping'> & {
  database: Pick<Services['database'], 'fork' | 'reads'>
  limits?: Services['limits']
}

/** The key of a file of the upstream server: kind, package name, and version of an archive or attestation. */
export type EntryKey = { kind: MirrorKind; name: string; version?: string | undefined }

/** What the mirror knows about a file of the upstream server. `sha256` is null if there is no such file, or if it was not fetched yet. */
export type Entry = {
  sha256: string | null
  bytes: number
  crc32c: string | null
  etag: string | null
  checkedAt: Date | null
  usedAt: Date
  failedAt: Date | null
  failure: string | null
  leasedUntil: Date | null
}

export const keyOf = ({ kind, name, version }: EntryKey): string => [kind, name, ...(version === undefined ? [] : [version])].join(':')

/** The store of the mirror: the folder `mirror` in the archive store. */
export function mirrorStore({ config, state }: Pick<MirrorServices, 'config' | 'state'>): Promise<BlobStore> {
  state.mirrorStore ??= openSideStore(config, 'mirror')
  // A failure is not remembered.
  state.mirrorStore.catch(() => delete state.mirrorStore)
  return state.mirrorStore
}

type Moment = number | string | Date
type Row = {
  sha256: string | null
  bytes: number
  crc32c: string | null
  etag: string | null
  checked_at: Moment | null
  used_at: Moment
  failed_at: Moment | null
  failure: string | null
  leased_until: Moment | null
}

/** Returns the row of a file, or undefined. */
export async function findEntry({ database }: Pick<MirrorServices, 'database'>, key: EntryKey): Promise<Entry | undefined> {
  const sql = `select sha256, bytes, crc32c, etag, checked_at, used_at, failed_at, failure, leased_until from mirror_entries where key = ?`
  const row = await database.reads.get<Row>(sql, keyOf(key))
  if (!row) return undefined
  const { sha256, bytes, crc32c, etag, failure } = row
  return {
    sha256,
    bytes,
    crc32c,
    etag,
    failure,
    checkedAt: dateOrNull(row.checked_at),
    usedAt: toDate(row.used_at),
    failedAt: dateOrNull(row.failed_at),
    leasedUntil: dateOrNull(row.leased_until),
  }
}

const dateOrNull = (moment: Moment | null) => (moment === null ? null : toDate(moment))

/** Time in milliseconds for which a fetch keeps other instances from fetching the same file, unless it is renewed. */
const leaseMs = 30_000

/** Claims the fetch of a file for this instance. Returns false if another one is fetching it. The claim ends with `saveEntry` or `saveFailure`. */
export async function claim({ database, now }: MirrorServices, key: EntryKey): Promise<boolean> {
  const [moment, until] = [now(), new Date(now().getTime() + leaseMs)]
  const claimed = await changeRows(
    database.fork(),
    `insert into mirror_entries (key, kind, name, version, used_at, leased_until) values (?, ?, ?, ?, ?, ?)
     on conflict (key) do update set leased_until = excluded.leased_until
     where mirror_entries.leased_until is null or mirror_entries.leased_until < ?`,
    [keyOf(key), key.kind, key.name, key.version ?? '', moment, until, moment],
  )
  return claimed > 0
}

/** Does work under a claim and extends the claim until the work ends. */
export async function whileClaimed<Result>(services: MirrorServices, key: EntryKey, work: () => Promise<Result>): Promise<Result> {
  const renewal = setInterval(() => void renewClaim(services, key), leaseMs / 3)
  try {
    return await work()
  } finally {
    clearInterval(renewal)
  }
}

const renewClaim = (services: MirrorServices, key: EntryKey): Promise<void> =>
  change(services, 'update mirror_entries set leased_until = ? where key = ? and leased_until is not null', [
    new Date(services.now().getTime() + leaseMs),
    keyOf(key),
  ])

/** A fetched state. `sha256` is null if the upstream server has no such file. `checkedAt`: when it was fetched, if not now. `ages`: `agesText`. */
export type Fetched = {
  sha256: string | null
  bytes: number
  crc32c?: string | null
  etag?: string | null
  ages?: string | null
  checkedAt?: Date
}

/** Stores the state of a file as the upstream server has just sent it, and ends the claim. */
export async function saveEntry({ database, now }: MirrorServices, key: EntryKey, fetched: Fetched): Promise<void> {
  const { sha256, bytes, crc32c = null, etag = null, ages = null, checkedAt = now() } = fetched
  const em = database.fork()
  // The name is recorded first, so that it is known as long as the file is.
  if (key.kind === 'listing' && sha256 !== null)
    await changeRows(em, 'insert into mirrored_names (name, mirrored_at) values (?, ?) on conflict (name) do nothing', [key.name, now()])
  await changeRows(
    em,
    `insert into mirror_entries (key, kind, name, version, sha256, bytes, crc32c, etag, ages, checked_at, used_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (key) do update set sha256 = excluded.sha256, bytes = excluded.bytes, crc32c = excluded.crc32c, etag = excluded.etag,
       ages = coalesce(excluded.ages, mirror_entries.ages), checked_at = excluded.checked_at, failed_at = null, failure = null, leased_until = null`,
    [keyOf(key), key.kind, key.name, key.version ?? '', sha256, bytes, crc32c, etag, ages, checkedAt, now()],
  )
}

/** Records that a file is not in the store, for example after a restore, so that it is fetched again. */
export const forgetFile = (services: MirrorServices, key: EntryKey, sha256: string): Promise<void> =>
  change(services, 'update mirror_entries set sha256 = null, bytes = 0, checked_at = null where key = ? and sha256 = ?', [
    keyOf(key),
    sha256,
  ])

/** Records that the upstream server has confirmed the stored state, and ends the claim. */
export const confirmEntry = (services: MirrorServices, key: EntryKey): Promise<void> =>
  change(services, 'update mirror_entries set checked_at = ?, failed_at = null, failure = null, leased_until = null where key = ?', [
    services.now(),
    keyOf(key),
  ])

/** Records a failed request to the upstream server, and ends the claim. */
export const saveFailure = (services: MirrorServices, key: EntryKey, failure: string): Promise<void> =>
  change(services, 'update mirror_entries set failed_at = ?, failure = ?, leased_until = null where key = ?', [
    services.now(),
    failure.slice(0, 500),
    keyOf(key),
  ])

/** Makes the next comparison of a document fetch the whole document. */
export const forgetEtag = (services: MirrorServices, key: EntryKey): Promise<void> =>
  change(services, 'update mirror_entries set etag = null where key = ?', [keyOf(key)])

/** Ends the claim without a result. */
export const releaseClaim = (services: MirrorServices, key: EntryKey): Promise<void> =>
  change(services, 'update mirror_entries set leased_until = null where key = ?', [keyOf(key)])

/** Whether a file of the store is missing or damaged, rather than temporarily unreadable. */
export const isMissing = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' || (error as Error).name === 'DamagedBytes'

/** Returns the SHA-256 of the archives of a package that are in the mirror, by version. */
export async function archiveHashes({ database }: Pick<MirrorServices, 'database'>, name: string): Promise<Map<string, string>> {
  const sql = "select version, sha256 from mirror_entries where kind = 'archive' and name = ? and sha256 is not null"
  const rows = await database.reads.all<{ version: string; sha256: string }>(sql, name)
  return new Map(rows.map(({ version, sha256 }) => [version, sha256]))
}

/** Returns what `agesText` wrote, by version; null if the stored listing does not have it yet. */
export async function savedAges(
  services: Pick<MirrorServices, 'database'>,
  name: string,
): Promise<Map<string, { ageFrom: string }> | null> {
  const sql = 'select ages from mirror_entries where key = ? and ages is not null'
  const row = await services.database.reads.get<{ ages: string }>(sql, keyOf({ kind: 'listing', name }))
  if (!row) return null
  const ages = Object.entries(JSON.parse(row.ages) as Record<string, string>)
  return new Map(ages.map(([version, ageFrom]) => [version, { ageFrom }]))
}

const halfDayMs = 12 * 3_600_000

/** Records that a file was sent, once in half a day. */
export async function recordUse(services: MirrorServices, key: EntryKey, usedAt: Date): Promise<void> {
  if (usedAt.getTime() >= services.now().getTime() - halfDayMs) return
  await change(services, 'update mirror_entries set used_at = ? where key = ?', [services.now(), keyOf(key)])
}

/** Changes a row of the cache. A failure is only logged: the file can be fetched again. */
async function change({ database, log }: MirrorServices, sql: string, values: (string | Date)[]): Promise<void> {
  try {
    await changeRows(database.fork(), sql, values)
  } catch (error) {
    if (!isRefusedForMove(error)) log.warning(`the mirror could not be updated: ${String(error)}`)
  }
}

const dayMs = 24 * 3_600_000

/**
 * Deletes the files of the mirror that were not used for the longest time if it is larger than UPSTREAM_CACHE_BYTES, rows without a file after a day,
 * and files to which no row refers. Several instances may do so concurrently. Returns the number of deleted files.
 */
export async function collectMirror(services: MirrorServices): Promise<number> {
  const { config, database, now, state } = services
  const em = database.fork()
  const before = new Date(now().getTime() - dayMs)
  await changeRows(em, 'delete from mirror_entries where sha256 is null and used_at < ? and (leased_until is null or leased_until < ?)', [
    before,
    now(),
  ])
  await trimRows(em, 'mirror_entries', config.UPSTREAM_CACHE_BYTES)
  // Without rows, the store need not be opened.
  if (!state.mirrorStore && !(await readRow(em, 'select 1 as one from mirror_entries limit 1', []))) return 0
  return removeUnreferenced(await mirrorStore(services), em, 'mirror_entries', now())
}
