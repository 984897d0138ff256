import { Readable } from 'node:stream'
import { rangeNotSatisfiable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { type ByteRange, isFresh, requestedRange, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'

/** How the bytes of an archive reach the client. */
type Source = {
  cacheControl: string
  /** Opens the archive or a range of it. `isTaken`: see BlobStore. */
  open: (range: ByteRange | undefined, isTaken: () => boolean) => Promise<Buffer | Readable>
  /** Returns a URL to redirect to, or null. */
  link?: () => Promise<string | null> | null
  /** Returns an internal path for the reverse proxy (X-Accel-Redirect), or null. */
  place?: (range: ByteRange | null) => Promise<string | null> | null
  /** Counts a download. */
  count: (range: ByteRange | null) => void
}

/** Sends a stored archive with its validators: the whole, a range, or only headers. @throws ApiError for an unsatisfiable range, and those of `open`. */
export async function sendStoredArchive(context: Context, archive: StoredBytes, source: Source): Promise<unknown> {
  const { request, reply } = context
  const etag = `"${archive.sha256}"`
  const range = requestedRange(request, archive.bytes, etag)
  if (range === 'unsatisfiable') throw (reply.header('content-range', `bytes */${archive.bytes}`), rangeNotSatisfiable(archive.bytes))
  const isCached = isFresh(request, etag)
  const link = isCached ? null : ((await source.link?.()) ?? null)
  if (link !== null) {
    source.count(range)
    return reply.header('cache-control', 'no-store').header('vary', 'authorization, cookie').redirect(link, 302)
  }
  const isTaken = () => reply.raw.writableLength === 0
  // Must run before headers are set, because a failure is answered with an error response.
  const place = isCached ? null : ((await source.place?.(range)) ?? null)
  const bytes = isCached || place !== null ? null : await source.open(range ?? undefined, isTaken)
  reply.header('etag', etag).header('accept-ranges', 'bytes').header('vary', 'authorization, cookie')
  reply.header('cache-control', source.cacheControl)
  reply.header('x-goog-hash', `crc32c=${archive.crc32c}`).type('application/gzip')
  if (isCached) return sendHeadersOnly(request, reply.code(304))
  source.count(range)
  if (place !== null) {
    // For the full archive, the proxy adds its own Accept-Ranges header.
    if (!range) reply.removeHeader('accept-ranges')
    return reply.header('x-accel-redirect', place).send()
  }
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${archive.bytes}`)
  reply.header('content-length', range ? range.end - range.start + 1 : archive.bytes)
  if (request.method !== 'HEAD') return reply.send(bytes)
  if (bytes instanceof Readable) bytes.destroy()
  return sendHeadersOnly(request, reply)
}
