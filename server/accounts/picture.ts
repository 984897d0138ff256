import pLimit from 'p-limit'
import type { Sharp } from 'sharp'
import { invalidInput } from '../errors.ts'

/** Edge of an avatar in pixels. */
const edge = 512
const maxPixels = 25_000_000

/**
 * The middle of a PNG, JPEG or WebP picture as a square PNG, upright and without metadata. Only the first frame of an animation.
 * @throws ApiError InvalidInput when it is not such a picture, is damaged, or has more than 25 megapixels.
 */
export async function squarePicture(bytes: Buffer): Promise<Buffer> {
  if (!signatures.some((signature) => signature.test(bytes.toString('latin1', 0, 16)))) throw unreadable()
  const sharp = await (loading ??= loadSharp())
  return inTurn(async () => {
    await refuseHuge(sharp(bytes, { limitInputPixels: false }))
    const picture = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error' })
    return picture
      .autoOrient()
      .resize(edge, edge, { fit: 'cover' })
      .timeout({ seconds: 20 })
      .png({ compressionLevel: 9 })
      .toBuffer()
      .catch(refuse)
  })
}

// What the content begins with; the name and the declared type of a file say nothing.
const signatures = [/^\x89PNG\r\n/, /^\xff\xd8\xff/, /^RIFF[^]{4}WEBP/]

const inTurn = pLimit(2)
let loading: Promise<(typeof import('sharp'))['default']> | undefined

/** Loaded with the first picture: it would take memory from servers that never see one. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Of all the formats that the library reads, these are enough.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] })
  return sharp
}

/** Reads the header only: nothing huge is ever unpacked. */
async function refuseHuge(picture: Sharp): Promise<void> {
  const { width, height } = await picture.metadata().catch(refuse)
  if (width * height > maxPixels) throw invalidInput(`file: has ${width} × ${height} pixels; at most 25 megapixels are accepted.`, 'file')
}

const unreadable = () => invalidInput('file: is not a PNG, JPEG or WebP picture that can be read.', 'file')

function refuse(): never {
  throw unreadable()
}
