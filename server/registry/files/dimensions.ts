/** Width and height of an image in pixels. */
export type Dimensions = { width: number; height: number }

/** Images with more pixels are not shown, because browsers would need too much memory. */
export const maxPixels = 50_000_000

/** Returns the dimensions of a raster image by its header, or null if they are not found in these bytes. */
export function dimensionsOf(bytes: Buffer, mediaType: string): Dimensions | null {
  const read = readers[mediaType]
  try {
    return read?.(bytes) ?? null
  } catch (error) {
    // The header is cut short.
    if (error instanceof RangeError) return null
    throw error
  }
}

const readers: Record<string, (bytes: Buffer) => Dimensions | null> = {
  'image/png': (bytes) => ({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }),
  'image/gif': (bytes) => ({ width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  'image/jpeg': jpeg,
  'image/webp': webp,
  'image/avif': avif,
}

/** Finds the frame header. Source: ITU-T T.81, annex B. */
function jpeg(bytes: Buffer): Dimensions | null {
  for (let offset = 2; offset < bytes.length;) {
    if (bytes.readUInt8(offset) !== 0xff) return null
    const marker = bytes.readUInt8(offset + 1)
    if (marker === 0xff) offset += 1
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) }
    else offset += 2 + (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8) ? 0 : bytes.readUInt16BE(offset + 2))
  }
  return null
}

/** Source: RFC 9649, sections 2.5 to 2.7. */
function webp(bytes: Buffer): Dimensions | null {
  const format = bytes.toString('latin1', 12, 16)
  if (format === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (format === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (format !== 'VP8L') return null
  const packed = bytes.readUInt32LE(21)
  return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
}

/** Returns the largest image spatial extents (`ispe`, ISO/IEC 23008-12): tiles and thumbnails have their own. */
function avif(bytes: Buffer): Dimensions | null {
  let largest: Dimensions | null = null
  for (let box = bytes.indexOf('ispe'); box >= 0; box = bytes.indexOf('ispe', box + 4)) {
    const size = { width: bytes.readUInt32BE(box + 8), height: bytes.readUInt32BE(box + 12) }
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size
  }
  return largest
}

/** Returns whether an image can be shown: its dimensions are known and not too large. SVGs have none. */
export function isShowable(bytes: Buffer, mediaType: string): boolean {
  if (mediaType === 'image/svg+xml') return true
  const size = dimensionsOf(bytes, mediaType)
  return size !== null && size.width * size.height <= maxPixels
}
