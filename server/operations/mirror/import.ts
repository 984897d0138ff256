import { createReadStream } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { conflict, notFound } from '../../errors.ts'
import { storedAt } from '../../platform/blobs/store.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { hasSpace, storeContent } from '../../platform/store/side-store.ts'
import { keepArchive } from '../../registry/mirror/archives.ts'
import { findEntry, mirrorFiles, type MirrorServices, savedAges, saveEntry } from '../../registry/mirror/entries.ts'
import { agesIn, agesText, type History, readDate } from '../../registry/mirror/ages.ts'
import {
  checkedDocument,
  documentLimits,
  hashesIn,
  limitedText,
  type MirroredListing,
  omittedFault,
  parseListing,
} from '../../registry/mirror/listing.ts'
import { linesOf } from '../backup/place/files.ts'
import { type ArchiveLine, type DocumentLine, indexFile, type Line, maxLineLength, parseHeader, parseLine } from './export.ts'
import { excessOf, type Mirror, type Note, storedText, mirrorExclusionReason } from './services.ts'

/** `present`: files that the mirror already had, or has newer. `refused`: lines and files that were not imported. `excess`: see `excessOf`. */
export type Imported = { imported: number; bytes: number; present: number; excess: number; skipped: Note[]; refused: Note[] }

/** Why a file is rejected. */
class Refused extends Error {}

/**
 * Imports the files of a folder that `exportMirror` wrote. Verifies the SHA-256 of each file and the content of documents, and archives also against
 * the listing. Keeps what the mirror has newer. Can be repeated. The folder is only read.
 * @throws ApiError NotFound or Conflict if the folder is not an export of the same upstream server.
 */
export async function importMirror(mirror: Mirror, path: string, report: (done: number) => void): Promise<Imported> {
  const folder = resolve(path)
  const result: Imported = { imported: 0, bytes: 0, present: 0, excess: 0, skipped: [], refused: [] }
  let done = 0
  // Archives are compared with the listings, so these come first.
  for (const isArchives of [false, true]) {
    for await (const { line, number } of linesIn(folder, mirror.upstream)) {
      if (line === null) {
        if (!isArchives) result.refused.push({ what: `${indexFile} line ${number}`, reason: 'It does not describe a file of the mirror.' })
      } else if ((line.kind === 'archive') === isArchives) {
        await importLine(mirror.services, folder, line, result)
        report(++done)
      }
    }
  }
  result.excess = await excessOf(mirror.services)
  return result
}

async function* linesIn(folder: string, upstream: string): AsyncGenerator<{ line: Line | null; number: number }> {
  const path = join(folder, indexFile)
  const isFile = await lstat(path).then(
    (facts) => facts.isFile(),
    () => false,
  )
  if (!isFile) throw notFound(`${folder} is not an export of a mirror: it has no file ${indexFile}.`)
  let number = 0
  for await (const text of linesOf(path, maxLineLength)) {
    number++
    if (number > 1) yield { line: parseLine(text), number }
    else {
      const header = parseHeader(text)
      if (!header) throw conflict(`${path} has a format that this version cannot read. Use the version that exported it, or a newer one.`)
      if (header.upstream !== upstream)
        throw conflict(
          `The export is of ${header.upstream}, and UPSTREAM_URL is ${upstream}. Packages of different servers must not be mixed.`,
        )
    }
  }
  if (number === 0) throw conflict(`${path} is empty.`)
}

async function importLine(services: MirrorServices, folder: string, line: Line, result: Imported): Promise<void> {
  const what = [line.kind, line.name, ...('version' in line ? [line.version] : [])].filter(Boolean).join(' ')
  const excluded = await mirrorExclusionReason(services, line.name)
  if (excluded !== null) return void result.skipped.push({ what, reason: excluded })
  try {
    if (!(await hasSpace(services.config))) throw new Refused('The disk is almost full.')
    const isNew = line.kind === 'archive' ? await importArchive(services, folder, line) : await importDocument(services, folder, line)
    if (!isNew) return void result.present++
    result.imported++
    result.bytes += line.bytes
  } catch (error) {
    const reason =
      error instanceof Refused || error instanceof NotFetched || (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? messageOf(error)
        : `It cannot be imported: ${messageOf(error)}`
    result.refused.push({ what, reason })
  }
}

const messageOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'Its file is missing.' : error instanceof Error ? error.message : String(error)

/** Returns the path of a file after checking that it is a regular file of the stated size. */
async function fileOf(folder: string, { sha256, bytes }: Line, limit: number): Promise<string> {
  const path = join(folder, 'sha256', storedAt(sha256))
  const facts = await lstat(path)
  if (!facts.isFile()) throw new Refused('Its file is not a regular file.')
  if (facts.size !== bytes) throw new Refused(`Its file has ${facts.size} bytes instead of ${bytes}.`)
  if (bytes > limit) throw new Refused(`It has more than ${limit} bytes.`)
  return path
}

/** Imports a document. Returns false if the mirror has it, or a newer one. */
async function importDocument(services: MirrorServices, folder: string, line: DocumentLine): Promise<boolean> {
  const key = { kind: line.kind, name: line.name, ...('version' in line && { version: line.version }) }
  const blobs = await mirrorFiles.store(services)
  const known = await findEntry(services, key)
  const hasFile = known?.sha256 != null && (await blobs.has(known.sha256))
  const checkedAt = new Date(Math.min(Date.parse(line.checkedAt), services.now().getTime()))
  if (hasFile && known.checkedAt && known.checkedAt >= checkedAt) return false
  const packed = await readFile(await fileOf(folder, line, documentLimits[line.kind].bytes))
  if (createHash('sha256').update(packed).digest('hex') !== line.sha256) throw new Refused('Its file does not have its SHA-256.')
  const { text, omitted } = limitedText(line.kind, await unzip(packed, { maxOutputLength: 2 * documentLimits[line.kind].bytes }))
  for (const { reason } of omittedFault(line.name, omitted)) throw new Refused(reason)
  const before = hasFile && known.sha256 !== null ? await storedText(services, known.sha256) : null
  const listing = line.kind === 'listing' ? await checkedListing(services, text, { name: line.name, before, checkedAt }) : null
  const checked = line.kind === 'listing' ? JSON.stringify(listing) : checkedDocument(line.kind, text, services.now())
  const content = await promisify<string, Buffer>(gzip)(checked)
  const sha256 = await storeContent(blobs, content)
  const ages = listing && agesText(listing)
  await saveEntry(services, key, { sha256, bytes: content.length, etag: line.etag, checkedAt, ages })
  return true
}

const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

type Imports = { name: string; before: string | null; checkedAt: Date }

/** Checks a stored listing by the rules for the upstream server's, also that no archive differs from what the mirror knows. */
async function checkedListing(services: MirrorServices, text: string, { name, before, checkedAt }: Imports): Promise<MirroredListing> {
  const listing = JSON.parse(text) as MirroredListing
  const versions = Array.isArray(listing.versions) ? listing.versions : []
  const sent = {
    ...listing,
    versions: versions.map(({ archiveUrl, sha256, ...version }) => ({ ...version, archive_url: archiveUrl, archive_sha256: sha256 })),
  }
  const upstreamUrl = services.config.UPSTREAM_URL ?? ''
  const known = new Map([...exportedAges(versions, checkedAt), ...((await savedAges(services, name)) ?? []), ...agesIn(before)])
  const history: History = { now: checkedAt, comparedAt: null, versions: known }
  const parsed = parseListing(JSON.stringify(sent), { name, upstreamUrl, pinned: hashesIn(before), history })
  const [fault] = parsed.faults
  if (fault || !parsed.listing) throw new Refused(fault?.reason ?? `The listing of ${name} has no versions.`)
  return parsed.listing
}

/** Returns when ages begin according to an export, as far as these are dates before it. */
const exportedAges = (versions: MirroredListing['versions'], checkedAt: Date) =>
  versions.flatMap((one): [string, { ageFrom: string; published: string | null }][] => {
    const begun = readDate(one?.ageFrom, checkedAt)
    return begun ? [[one.version, { ageFrom: begun.at.toISOString(), published: one.published }]] : []
  })

/** Imports an archive. Returns false if the mirror has it. */
async function importArchive(services: MirrorServices, folder: string, line: ArchiveLine): Promise<boolean> {
  const { name, version, sha256 } = line
  const key = { kind: 'archive', name, version } as const
  const blobs = await mirrorFiles.store(services)
  const known = await findEntry(services, key)
  if (known?.sha256 && known.sha256 !== sha256)
    throw new Refused(`The mirror has it with the SHA-256 ${known.sha256} instead of ${sha256}.`)
  if (known?.sha256 && (await blobs.has(sha256))) return false
  const listed = await listedHash(services, name, version)
  if (listed !== null && listed !== sha256) throw new Refused(`Its SHA-256 is ${sha256} instead of ${listed} as in the listing.`)
  const path = await fileOf(folder, line, services.config.MAX_UPLOAD_BYTES)
  const stored = await keepArchive(blobs, sha256, services.config.MAX_UPLOAD_BYTES, createReadStream(path))
  await saveEntry(services, key, { ...stored, checkedAt: new Date(Math.min(Date.parse(line.checkedAt), services.now().getTime())) })
  return true
}

/** Returns the SHA-256 of a version in the stored listing; null if the listing has the version without it. */
async function listedHash(services: MirrorServices, name: string, version: string): Promise<string | null> {
  const entry = await findEntry(services, { kind: 'listing', name })
  const text = entry?.sha256 ? await storedText(services, entry.sha256) : null
  const listing = text === null ? null : (JSON.parse(text) as MirroredListing)
  const found = listing?.versions.find((one) => one.version === version)
  if (!found) throw new Refused('The listing in the mirror does not have this version.')
  return found.sha256
}
