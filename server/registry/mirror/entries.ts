import { db, prepared, type Query } from '../../platform/db/query.ts'
import { changeRows, readRow } from '../../platform/db/statements.ts'
import { isRejectedForMove } from '../../platform/db/unavailable.ts'
import { openSideStore, removeUnreferenced, trimRows } from '../../platform/store/side-store.ts'
import type { BlobStore } from '../../platform/blobs/store.ts'
import type { Services } from '../../services.ts'
import type { MirrorKind } from './entity.ts'
import type { NotNull } from 'kysely'

declare module '../../services.ts' {
  interface State {
    /** Store of the files of the mirror. */
    mirrorStore?: Promise<BlobStore>
  }
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

const columnsOf = (key: EntryKey) => ({ key: keyOf(key), kind: key.kind, name: key.name, version: key.version ?? '' })

/** The store of the mirror: the folder `mirror` in the archive store. */
export function mirrorStore({ config, state }: Pick<MirrorServices, 'config' | 'state'>): Promise<BlobStore> {
  state.mirrorStore ??= openSideStore(config, 'mirror')
  // A failure is not remembered.
  state.mirrorStore.catch(() => delete state.mirrorStore)
  return state.mirrorStore
}

/** Returns the row of a file, or undefined. */
export const findEntry = ({ database }: Pick<MirrorServices, 'database'>, key: EntryKey): Promise<Entry | undefined> =>
  database.reads.get(entryOf, keyOf(key))

const entryOf = prepared((key: string) =>
  db
    .selectFrom('mirror_entries')
    .select(['sha256', 'bytes', 'crc32c', 'etag', 'checked_at as checkedAt', 'used_at as usedAt', 'failed_at as failedAt', 'failure'])
    .select('leased_until as leasedUntil')
    .where('key', '=', key),
)

/** Time in milliseconds for which a fetch keeps other instances from fetching the same file, unless it is renewed. */
const leaseMs = 30_000

/** Claims the fetch of a file for this instance. Returns false if another one is fetching it. The claim ends with `saveEntry` or `saveFailure`. */
export async function claim({ database, now }: MirrorServices, key: EntryKey): Promise<boolean> {
  const [moment, until] = [now(), new Date(now().getTime() + leaseMs)]
  const claimed = await changeRows(
    database.fork(),
    db
      .insertInto('mirror_entries')
      .values({ ...columnsOf(key), used_at: moment, leased_until: until })
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet((eb) => ({ leased_until: eb.ref('excluded.leased_until') }))
          .where((eb) => eb.or([eb('mirror_entries.leased_until', 'is', null), eb('mirror_entries.leased_until', '<', moment)])),
      ),
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
  change(
    services,
    updateOf(key)
      .set({ leased_until: new Date(services.now().getTime() + leaseMs) })
      .where('leased_until', 'is not', null),
  )

/** A fetched state. `sha256` is null if the upstream server has no such file. `checkedAt`: when it was fetched, if not now. `ages`: `agesText`. */
export type Fetched = {
  sha256: string | null
  bytes: number
  crc32c?: string | null
  etag?: string | null
  ages?: string | null
  checkedAt?: Date
}

/** What is no longer true once the upstream server has answered. */
const answered = { failed_at: null, failure: null, leased_until: null }

/** Stores the state of a file as the upstream server has just sent it, and ends the claim. */
export async function saveEntry({ database, now }: MirrorServices, key: EntryKey, fetched: Fetched): Promise<void> {
  const { sha256, bytes, crc32c = null, etag = null, ages = null, checkedAt = now() } = fetched
  const em = database.fork()
  // The name is recorded first, so that it is known as long as the file is.
  if (key.kind === 'listing' && sha256 !== null)
    await changeRows(
      em,
      db
        .insertInto('mirrored_names')
        .values({ name: key.name, mirrored_at: now() })
        .onConflict((conflict) => conflict.doNothing()),
    )
  const state = { sha256, bytes, crc32c, etag, checked_at: checkedAt }
  await changeRows(
    em,
    db
      .insertInto('mirror_entries')
      .values({ ...columnsOf(key), ...state, ages, used_at: now() })
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet((eb) => ({
          ...state,
          ages: eb.fn.coalesce('excluded.ages', 'mirror_entries.ages'),
          ...answered,
        })),
      ),
  )
}

/** Records that a file is not in the store, for example after a restore, so that it is fetched again. */
export const forgetFile = (services: MirrorServices, key: EntryKey, sha256: string): Promise<void> =>
  change(services, updateOf(key).set({ sha256: null, bytes: 0, checked_at: null }).where('sha256', '=', sha256))

/** Records that the upstream server has confirmed the stored state, and ends the claim. */
export const confirmEntry = (services: MirrorServices, key: EntryKey): Promise<void> =>
  change(services, updateOf(key).set({ checked_at: services.now(), ...answered }))

/** Records a failed request to the upstream server, and ends the claim. */
export const saveFailure = (services: MirrorServices, key: EntryKey, failure: string): Promise<void> =>
  change(services, updateOf(key).set({ failed_at: services.now(), failure: failure.slice(0, 500), leased_until: null }))

/** Makes the next comparison of a document fetch the whole document. */
export const forgetEtag = (services: MirrorServices, key: EntryKey): Promise<void> => change(services, updateOf(key).set({ etag: null }))

/** Ends the claim without a result. */
export const releaseClaim = (services: MirrorServices, key: EntryKey): Promise<void> =>
  change(services, updateOf(key).set({ leased_until: null }))

/** Whether a file of the store is missing or damaged, rather than temporarily unreadable. */
export const isMissing = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' || (error as Error).name === 'DamagedBytes'

/** Returns the SHA-256 of the archives of a package that are in the mirror, by version. */
export async function archiveHashes({ database }: Pick<MirrorServices, 'database'>, name: string): Promise<Map<string, string>> {
  const rows = await database.reads.all(hashesOf, name)
  return new Map(rows.map(({ version, sha256 }) => [version, sha256]))
}
const hashesOf = prepared((name: string) =>
  db
    .selectFrom('mirror_entries')
    .select(['version', 'sha256'])
    .where('kind', '=', 'archive')
    .where('name', '=', name)
    .where('sha256', 'is not', null)
    .$narrowType<{ sha256: NotNull }>(),
)

/** Returns what `agesText` wrote, by version; null if the stored listing does not have it yet. */
export async function savedAges(
  services: Pick<MirrorServices, 'database'>,
  name: string,
): Promise<Map<string, { ageFrom: string }> | null> {
  const row = await services.database.reads.get(agesOf, keyOf({ kind: 'listing', name }))
  if (!row || row.ages === null) return null
  const ages = Object.entries(JSON.parse(row.ages) as Record<string, string>)
  return new Map(ages.map(([version, ageFrom]) => [version, { ageFrom }]))
}
const agesOf = prepared((key: string) => db.selectFrom('mirror_entries').select('ages').where('key', '=', key))

const halfDayMs = 12 * 3_600_000

/** Records that a file was sent, once in half a day. */
export async function recordUse(services: MirrorServices, key: EntryKey, usedAt: Date): Promise<void> {
  if (usedAt.getTime() >= services.now().getTime() - halfDayMs) return
  await change(services, updateOf(key).set({ used_at: services.now() }))
}

const updateOf = (key: EntryKey) => db.updateTable('mirror_entries').where('key', '=', keyOf(key))

/** Changes a row of the cache. A failure is only logged: the file can be fetched again. */
async function change({ database, log }: MirrorServices, update: Query<unknown>): Promise<void> {
  try {
    await changeRows(database.fork(), update)
  } catch (error) {
    if (!isRejectedForMove(error)) log.warning(`the mirror could not be updated: ${String(error)}`)
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
  const fileless = db.deleteFrom('mirror_entries').where('sha256', 'is', null).where('used_at', '<', before)
  await changeRows(
    em,
    fileless.where((eb) => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<', now())])),
  )
  await trimRows(em, 'mirror_entries', config.UPSTREAM_CACHE_BYTES)
  // Without rows, the store need not be opened.
  if (!state.mirrorStore && !(await readRow(em, db.selectFrom('mirror_entries').select('key').limit(1)))) return 0
  return removeUnreferenced(await mirrorStore(services), em, 'mirror_entries', now())
}
