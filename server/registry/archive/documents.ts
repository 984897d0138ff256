import { isUtf8 } from 'node:buffer'

/** A text file that the registry stores: its path in the archive, and its text, truncated to the limit. */
export type TextFile = { path: string; text: string }

/** The documents that are read from the root of an archive. If several files qualify, the one with the best `documentRank` is used. */
export const rootDocuments = ['readme', 'changelog', 'license'] as const
export type RootDocument = (typeof rootDocuments)[number]

/**
 * Returns how well a root file serves as a document: 0 is best, null means that it does not qualify. The order is `README.md`, `README`, `README.txt`
 * and so on. Case is ignored.
 */
export function documentRank(kind: RootDocument, path: string): number | null {
  const lower = path.toLowerCase()
  const rank = lower.startsWith(kind) ? extensions.indexOf(lower.slice(kind.length)) : -1
  return rank < 0 ? null : rank
}

/** Returns whether a file could be the example of a package. Candidates are kept until the package name is known. */
export const mayBeExample = (path: string): boolean => possibleExample.test(path)

/** Returns the package's example from the candidates, or null. The order of preference is that of pub.dev. */
export function pickExample(candidates: readonly TextFile[], packageName: string): TextFile | null {
  const byPath = new Map(candidates.map((candidate) => [candidate.path.toLowerCase(), candidate]))
  const found = exampleOrder(packageName).find((path) => byPath.has(path))
  return (found !== undefined && byPath.get(found)) || null
}

/**
 * Decodes content in UTF-8 or UTF-16 and truncates it to `limit` bytes at a character boundary. Invalid sequences, and NUL (which PostgreSQL cannot store), become
 * U+FFFD.
 */
export function decodeText(content: Buffer, limit: number): string {
  const wide = utf16Of(content)
  return wide ? storable(wide.decode(content.subarray(0, 2 * limit)), limit) : utf8Of(content, limit)
}

/** Like `decodeText`, for content that is always in UTF-8, such as Dart source. */
export const utf8Of = (content: Buffer, limit: number): string => storable(decoder.decode(truncateUtf8(content, limit)), limit)

function storable(decoded: string, limit: number): string {
  const text = decoded.replaceAll('\0', '\ufffd')
  return Buffer.byteLength(text) > limit ? decoder.decode(truncateUtf8(Buffer.from(text), limit)) : text
}

const extensions = ['.md', '', '.txt', '.markdown', '.mkd', '.rst']
const possibleExample = /^example\/(?:example\.md|readme\.md|(?:(?:lib|bin)\/)?\w{1,72}\.dart)$/i
const decoder = new TextDecoder()
const littleEndian = new TextDecoder('utf-16le')
const bigEndian = new TextDecoder('utf-16be')

/**
 * Returns the decoder of content in UTF-16, else null. Such content has a byte order mark, or NUL mainly at even or at odd places: in most pairs of
 * bytes, or, as in Chinese text, in spaces and line breaks; then it is not UTF-8.
 */
function utf16Of(content: Buffer): TextDecoder | null {
  const start = content.subarray(0, 1024)
  if (start[0] === 0xff && start[1] === 0xfe) return littleEndian
  if (start[0] === 0xfe && start[1] === 0xff) return bigEndian
  const zeros = [0, 0]
  for (const [index, byte] of start.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if (start.length < 8 || Math.max(even, odd) < 2) return null
  if (even + odd <= start.length / 4 && isUtf8(start)) return null
  return odd > 2 * even ? littleEndian : even > 2 * odd ? bigEndian : null
}

function exampleOrder(name: string): string[] {
  const programs = ['main', name, `${name}_example`, 'example'].flatMap((program) =>
    ['lib/', 'bin/', ''].map((folder) => `${folder}${program}.dart`),
  )
  return ['example.md', ...programs, 'readme.md'].map((file) => `example/${file}`)
}

function truncateUtf8(content: Buffer, limit: number): Buffer {
  if (content.length <= limit) return content
  let end = limit
  while (end > limit - 4 && end > 0 && ((content[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return content.subarray(0, end)
}
