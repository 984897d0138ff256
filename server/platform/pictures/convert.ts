import pLimit from 'p-limit'
import type { Sharp } from 'sharp'
import { invalidInput } from '../../errors.ts'

/** Width and height of a converted picture in pixels. */
const edge = 512
const maxPixels = 25_000_000

/**
 * Converts a PNG, JPEG or WebP picture to a square PNG, upright and without metadata: cropped to its center (`cover`), or whole on a transparent
 * background (`contain`). Animations are reduced to their first frame.
 * @throws ApiError InvalidInput for other formats, corrupt pictures, and pictures with more than 25 megapixels.
 */
export async function squarePicture(bytes: Buffer, fit: 'cover' | 'contain'): Promise<Buffer> {
  if (!signatures.some((signature) => signature.test(bytes.toString('latin1', 0, 16)))) throw unreadable()
  const sharp = await loadSharp()
  return inTurn(async () => {
    await rejectHuge(sharp(bytes, { limitInputPixels: false }))
    const picture = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error' })
    return picture
      .autoOrient()
      .resize(edge, edge, { fit, background: { r: 0, g: 0, b: 0, alpha: 0 } })
      .timeout({ seconds: 20 })
      .png({ compressionLevel: 9 })
      .toBuffer()
      .catch(rejectPicture)
  })
}

// Magic numbers of the accepted formats. The name and the declared type of a file are not trusted.
const signatures = [/^\x89PNG\r\n/, /^\xff\xd8\xff/, /^RIFF[^]{4}WEBP/]

const inTurn = pLimit(2)
let loading: Promise<(typeof import('sharp'))['default']> | undefined

/** Loads the library on first use, so that servers without pictures save its memory. Callers check the format of a picture before. */
export const loadSharp = () => (loading ??= load())

async function load() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Of the decoders in the library, only those of the accepted formats are enabled.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['Png', 'Jpeg', 'Webp', 'Nsgif'].map((format) => `VipsForeignLoad${format}Buffer`) })
  return sharp
}

/** Checks the size in the picture's header, before any pixels are decoded. */
async function rejectHuge(picture: Sharp): Promise<void> {
  const { width, height } = await picture.metadata().catch(rejectPicture)
  if (width * height > maxPixels) throw invalidInput(`file: has ${width} × ${height} pixels; at most 25 megapixels are accepted.`, 'file')
}

const unreadable = () => invalidInput('file: is not a PNG, JPEG or WebP picture that can be read.', 'file')

function rejectPicture(): never {
  throw unreadable()
}
