import { createHash } from 'node:crypto'
import { serviceUnavailable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { turnOf } from '../../platform/http/limits.ts'
import { loadSharp } from '../../platform/pictures/convert.ts'
import { createFairLimiter, type FairLimiter } from '../../platform/threads/fair-limiter.ts'
import { isShowable, maxPixels } from '../files/dimensions.ts'
import type { VersionArchive } from '../files/reading/copies.ts'
import { readArchiveFile } from '../files/service.ts'
import { safeSvg } from '../files/svg/service.ts'
import { cacheImage, findImage, type Image, readImage } from './service.ts'

declare module '../../services.ts' {
  interface State {
    /** Thumbnails that are being made, by cache key. */
    thumbnails?: Map<string, Promise<Image | null>>
    thumbnailTurns?: FairLimiter
  }
}

/** Increment when thumbnails of the same image change. */
const revision = 2
/** Largest width and height of a thumbnail in pixels, by its size: `small` for lists. */
export const thumbnailSizes = { usual: 480, small: 240 } as const
export type ThumbnailSize = keyof typeof thumbnailSizes
/** Largest image in bytes of which a thumbnail is made. */
const maxSourceBytes = 5 * 1024 ** 2
const decoded = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

const turnsOf = ({ state }: Context): FairLimiter =>
  (state.thumbnailTurns ??= createFairLimiter({
    atOnce: 2,
    waiting: 1000,
    waitingPerKey: 100,
    maxWaitMs: 20_000,
    rejection: () => serviceUnavailable('Too many images are waiting to be prepared. Try again in a moment.', 5),
  }))

/**
 * Returns a thumbnail of an image in an archive: as WebP, without animation, or the sanitized image for an SVG. It is made once and cached. Returns null
 * if the file does not exist or is not a PNG, JPEG, GIF, WebP or SVG that can be shown.
 * @throws ApiError ServiceUnavailable if the archive cannot be read, or too many thumbnails are being made.
 */
export async function thumbnailOf(context: Context, archive: VersionArchive, path: string, size: ThumbnailSize): Promise<Image | null> {
  const key = createHash('sha256')
    .update(JSON.stringify(['thumbnail', revision, archive.sha256, path, ...(size === 'usual' ? [] : [size])]))
    .digest('hex')
  const cached = await findImage(context, key)
  if (cached && cached.sha256 === null) return null
  const content = cached?.sha256 ? await readImage(context, cached.sha256) : null
  if (content && cached?.mediaType) return { content, mediaType: cached.mediaType }
  const making = (context.state.thumbnails ??= new Map<string, Promise<Image | null>>())
  let current = making.get(key)
  if (!current) {
    current = make(context, archive, { path, size, key }).finally(() => making.delete(key))
    making.set(key, current)
  }
  return current
}

type Wanted = { path: string; size: ThumbnailSize; key: string }

async function make(context: Context, archive: VersionArchive, { path, size, key }: Wanted): Promise<Image | null> {
  // The file is read in turn, so that waiting requests hold no images in memory.
  const image = await turnsOf(context)(turnOf(context), () => readAndShrink(context, archive, path, size))
  // A missing file takes no place in the cache.
  if (image === 'missing') return null
  await cacheImage(context, key, image)
  return image
}

async function readAndShrink(
  context: Context,
  archive: VersionArchive,
  path: string,
  size: ThumbnailSize,
): Promise<Image | null | 'missing'> {
  const found = await readArchiveFile(context, archive, path, maxSourceBytes)
  if (!found) return 'missing'
  const { file, content } = found
  if (content.length < file.bytes) return null
  if (file.mediaType === 'image/svg+xml') {
    const svg = await safeSvg(context, content)
    return svg && { content: svg, mediaType: file.mediaType }
  }
  const isDecoded = decoded.has(file.mediaType) && isShowable(content, file.mediaType)
  return isDecoded ? shrink(content, thumbnailSizes[size]) : null
}

/** Returns a smaller image without metadata, or null if the image is damaged. */
async function shrink(content: Buffer, most: number): Promise<Image | null> {
  const sharp = await loadSharp()
  const thumbnail = await sharp(content, { limitInputPixels: maxPixels, failOn: 'error' })
    .autoOrient()
    .resize(most, most, { fit: 'inside', withoutEnlargement: true })
    .timeout({ seconds: 20 })
    .webp({ quality: 80 })
    .toBuffer()
    .catch(() => null)
  return thumbnail && { content: thumbnail, mediaType: 'image/webp' }
}
