import { conflict } from '../../errors.ts'
import type { BlobFacts } from './place/place.ts'

/** A blob that a package version refers to: its archive or its documentation. */
export type NamedBlob = { sha256: string; bytes: number; store: 'archives' | 'docs' }

/** Selects every blob that the database refers to, once per store. Avatars and rendered pages are stored in rows and need no blobs. */
export const namedBlobs = `select sha256, max(bytes) as bytes, store from (
    select archive_sha256 as sha256, archive_bytes as bytes, 'archives' as store from package_versions
    union all select sha256, bytes, 'docs' as store from version_docs where sha256 is not null
  ) named group by sha256, store order by sha256, store`

/** Formats a line of a blob list, in the text format of PostgreSQL's COPY. */
export const lineOf = ({ sha256, bytes, store }: NamedBlob): string => `${sha256}\t${bytes}\t${store}\n`

/**
 * Parses a blob list. `name` identifies the list in error messages.
 * @throws ApiError Conflict for a line that is malformed or out of order.
 */
export async function* parseBlobList(lines: AsyncIterable<string>, name: string): AsyncGenerator<NamedBlob> {
  let last = ''
  for await (const line of lines) {
    const [, sha256, bytes, store] = /^([0-9a-f]{64})\t(\d{1,15})\t(archives|docs)$/.exec(line) ?? []
    if (!sha256 || `${sha256} ${store}` <= last) throw conflict(`${name} has a line that is invalid or out of order.`)
    last = `${sha256} ${store}`
    yield { sha256, bytes: Number(bytes), store: store === 'docs' ? 'docs' : 'archives' }
  }
}

/** Passes a stream of blobs through. @throws Error when the blobs are not sorted by hash. */
export async function* requireSorted<Blob extends Pick<BlobFacts, 'sha256'>>(
  blobs: AsyncIterable<Blob>,
  name: string,
): AsyncGenerator<Blob> {
  let last = ''
  for await (const blob of blobs) {
    if (blob.sha256 < last) throw new Error(`${name} is not in order.`)
    last = blob.sha256
    yield blob
  }
}

/**
 * Returns a lookup function for a sorted stream of blobs that uses constant memory. Lookups must be made in ascending order of hashes, and may
 * be made without waiting for earlier ones.
 */
export function createLookup<Blob extends Pick<BlobFacts, 'sha256'>>(
  blobs: AsyncGenerator<Blob>,
): (sha256: string) => Promise<Blob | null> {
  let current: Blob | null = null
  let isOver = false
  const find = async (sha256: string) => {
    while (!isOver && (current === null || current.sha256 < sha256)) {
      const next = await blobs.next()
      isOver = next.done === true
      if (!next.done) current = next.value
    }
    return current?.sha256 === sha256 ? current : null
  }
  let turn: Promise<unknown> = Promise.resolve()
  return (sha256) => {
    const answer = turn.then(() => find(sha256))
    turn = answer.catch(() => {})
    return answer
  }
}
