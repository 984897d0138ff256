import type { EntityManager } from '@mikro-orm/sql'
import type { InferResult, NotNull } from 'kysely'
import { existsSync, readdirSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { syncDirectory } from '../../platform/blobs/durable-files.ts'
import { openFilesystemBlobs } from '../../platform/blobs/filesystem.ts'
import type { BlobStore } from '../../platform/blobs/store.ts'
import { db } from '../../platform/db/query.ts'
import { readRow, readRows } from '../../platform/db/statements.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import { faultOf, findFault, storeBytes } from '../../platform/store/transfer.ts'
import { mirrorFiles } from '../../registry/mirror/entries.ts'
import { writeHashed } from '../backup/place/files.ts'
import { describeOverlap } from '../backup/place/settings.ts'
import type { Mirror, Note } from './services.ts'

/** Name of the index in the folder of an export. Files are at `sha256/ab/cd/<hash>`, as in a blob store. */
export const indexFile = 'index.jsonl'

/** Longest line of the index, in characters. */
export const maxLineLength = 4096

/** First line of the index. */
const header = z.object({
  format: z.literal('snug-mirror'),
  version: z.literal(1),
  upstream: z.string().max(2000),
  exportedAt: z.iso.datetime(),
})
export type Header = z.infer<typeof header>

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const packageName = z.string().refine(isUpstreamName)
const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const checkedAt = z.iso.datetime()

const documentLine = z.strictObject({
  kind: z.enum(['listing', 'advisories', 'score', 'options', 'publisher']),
  name: packageName,
  sha256,
  bytes,
  checkedAt,
  etag: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/)
    .nullable(),
})
const namesLine = documentLine.extend({ kind: z.literal('names'), name: z.literal('') })
const version = z.string().refine((text) => parseVersion(text) !== null)
const attestationLine = documentLine.extend({ kind: z.literal('attestation'), version })
const archiveLine = z.strictObject({
  kind: z.literal('archive'),
  name: packageName,
  version,
  sha256,
  bytes,
  checkedAt,
})
const line = z.discriminatedUnion('kind', [documentLine, namesLine, attestationLine, archiveLine])

/** A further line of the index: a file of the mirror. */
export type Line = z.infer<typeof line>
export type ArchiveLine = z.infer<typeof archiveLine>
export type DocumentLine = Exclude<Line, ArchiveLine>

/** Parses the first line. Returns null if the folder was not exported by a version of this program that this one understands. */
export const parseHeader = (text: string): Header | null => header.safeParse(jsonOf(text)).data ?? null

/** Parses a further line. Returns null if it is invalid. */
export const parseLine = (text: string): Line | null => (text.length > maxLineLength ? null : (line.safeParse(jsonOf(text)).data ?? null))

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `copied`: files that were not in the folder before. `lacking`: what the mirror lists, but has no usable file of. */
export type Exported = { files: number; bytes: number; copied: number; removed: number; lacking: Note[] }

const batchSize = 500
const partFile = `${indexFile}.part`
const ownNames = new Set([indexFile, partFile, 'sha256', 'staging', 'removed'])

/**
 * Writes the files of the mirror and an index of them to a folder. An earlier export there is brought up to date. The index is written last, so an
 * interrupted export can be repeated.
 * @throws ApiError Conflict if the folder contains other files, or overlaps with the data of the server.
 */
export async function exportMirror(
  { services, upstream }: Mirror,
  path: string,
  report: (done: number, total: number) => void,
): Promise<Exported> {
  const folder = resolve(path)
  requireOwnFolder(services.config, folder)
  const em = services.database.fork()
  const stores = { from: await mirrorFiles.store(services), to: await openFilesystemBlobs(folder) }
  const total = await readRow(
    em,
    db
      .selectFrom('mirror_entries')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('sha256', 'is not', null),
  )
  const result: Exported = { files: 0, bytes: 0, copied: 0, removed: 0, lacking: [] }
  const named = new Set<string>()
  async function* lines() {
    const header: Header = { format: 'snug-mirror', version: 1, upstream, exportedAt: services.now().toISOString() }
    yield `${JSON.stringify(header)}\n`
    for await (const row of rowsOf(em)) {
      const line = await copyFile(stores, row, result)
      if (line) yield `${JSON.stringify(line)}\n`
      if (line) named.add(row.sha256)
      report(result.files + result.lacking.length, total?.count ?? 0)
    }
  }
  await rm(join(folder, partFile), { force: true })
  await writeHashed(join(folder, partFile), lines())
  await rename(join(folder, partFile), join(folder, indexFile))
  await syncDirectory(folder)
  result.removed = await removeOthers(stores.to, named, services.now())
  return result
}

const rowsAfter = (key: string) =>
  db
    .selectFrom('mirror_entries')
    .select(['key', 'kind', 'name', 'version', 'sha256', 'bytes', 'etag', 'checked_at'])
    .where('sha256', 'is not', null)
    .where('checked_at', 'is not', null)
    .$narrowType<{ sha256: NotNull; checked_at: NotNull }>()
    .where('key', '>', key)
    .orderBy('key')
    .limit(batchSize)

type Row = InferResult<ReturnType<typeof rowsAfter>>[number]

async function* rowsOf(em: EntityManager): AsyncGenerator<Row> {
  for (let after = ''; ;) {
    const rows = await readRows(em, rowsAfter(after))
    yield* rows
    after = rows.at(-1)?.key ?? ''
    if (rows.length < batchSize) return
  }
}

function requireOwnFolder(config: Mirror['services']['config'], folder: string): void {
  const overlap = describeOverlap(config, folder)
  if (overlap !== null) throw conflict(`${folder} ${overlap}. Name a folder apart from the data.`)
  const other = existsSync(folder) ? readdirSync(folder).find((name) => !ownNames.has(name)) : undefined
  if (other !== undefined) throw conflict(`${folder} contains ${other}. Name an empty folder, or one with an earlier export.`)
}

/** Returns the line of a row, or null if an import would reject it. */
function lineOf({ kind, name, version, sha256, bytes, etag, checked_at }: Row): Line | null {
  const checkedAt = checked_at.toISOString()
  const file = { kind, name, ...(version !== '' && { version }), sha256, bytes, checkedAt }
  return parseLine(JSON.stringify(kind === 'archive' ? file : { ...file, etag: printable(etag) }))
}

/** An ETag is only a shortcut: without it, the upstream server sends the whole document again. */
const printable = (etag: string | null): string | null => (etag !== null && /^[\x20-\x7e]+$/.test(etag) ? etag : null)

type Folders = { from: BlobStore; to: BlobStore }

/** Copies the file of a row unless the folder has it. Returns its line in the index, or null if the file is left out. */
async function copyFile(stores: Folders, row: Row, result: Exported): Promise<Line | null> {
  const line = lineOf(row)
  const problem = line ? await copy(stores, row, result) : 'Its row is invalid.'
  if (problem !== null || !line) {
    result.lacking.push({ what: row.key, reason: problem ?? '' })
    return null
  }
  result.files++
  result.bytes += row.bytes
  return line
}

/** Copies a file. Returns what is wrong with it, or null. */
async function copy({ from, to }: Folders, { sha256, bytes }: Row, result: Exported): Promise<string | null> {
  if (await to.has(sha256)) {
    if ((await findFault(to, sha256)) === null) return null
    await to.remove(sha256, { at: new Date() })
  }
  try {
    if ((await storeBytes(to, sha256, await from.open(sha256), Math.max(bytes, 1))) === null) return 'Its file is damaged.'
    result.copied++
    return null
  } catch (error) {
    return `Its file is ${faultOf(error)}.`
  }
}

/** Deletes files of an earlier export that are no longer in the mirror. Returns their number. */
async function removeOthers(to: BlobStore, named: ReadonlySet<string>, at: Date): Promise<number> {
  let removed = 0
  for await (const { sha256 } of to.list()) if (!named.has(sha256) && (await to.remove(sha256, { at })) !== null) removed++
  await to.purge(new Date(at.getTime() + 60_000))
  await to.collectStaged(at)
  return removed
}
