import { isUtf8 } from 'node:buffer'

/** Media types of the images that are shown. They are recognized by their content. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml'] as const
export type ImageType = (typeof imageTypes)[number]

/** Largest raster image in bytes that documents show. */
export const maxImageBytes = 5 * 1024 ** 2

/** Number of bytes at the start of a file from which its type is determined. */
export const headBytes = 16 * 1024

/** Returns the type of an image by its first bytes, at most `headBytes`, or null. Its name and its declared type are not trusted. */
export function imageTypeOf(head: Buffer): ImageType | null {
  const start = head.toString('latin1', 0, 32)
  const [type = null] = signatures.find(([, signature]) => signature.test(start)) ?? []
  return type ?? (isSvg(head) ? 'image/svg+xml' : null)
}

/** Returns whether a file is text by its first bytes, at most `headBytes`: UTF-8 without NUL. */
export function isText(head: Buffer): boolean {
  return !head.includes(0) && isUtf8(wholeCharacters(head))
}

const signatures: [ImageType, RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBPVP8/],
  ['image/avif', /^[^]{4}ftypavi[fs]/],
]

/** Returns whether the root element is `svg`, after declarations and comments. */
function isSvg(head: Buffer): boolean {
  let rest = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
  while (rest.startsWith('<?') || rest.startsWith('<!')) {
    const closing = rest.startsWith('<!--') ? '-->' : '>'
    const end = rest.indexOf(closing)
    if (end < 0) return false
    rest = rest.slice(end + closing.length).trimStart()
  }
  return /^<svg[\s>/]/.test(rest)
}

/** Cuts off an incomplete character at the end of a part of a file. */
function wholeCharacters(head: Buffer): Buffer {
  if (head.length < headBytes) return head
  let end = head.length
  while (end > head.length - 4 && ((head[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1
  return head.subarray(0, (head[end - 1] ?? 0) >= 0xc0 ? end - 1 : head.length)
}
