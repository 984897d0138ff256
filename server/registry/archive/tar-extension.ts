import { refuse } from './refuse.ts'

/** Maximum length of an extension header in bytes. The pub client's reader has the same limit (package:tar, `defaultSpecialLength`). */
export const maxExtension = 2048

/** Maximum number of PAX records. Tar writers use about a dozen different keys. */
const maxRecords = 32

/** Returns whether a tar type flag announces metadata of the next entry: PAX `x` and `g`, GNU long name `L` and long link `K`. */
export const isExtension = (type: string) => 'xgLK'.includes(type)

/**
 * Validates a PAX header. Rejects `size` and sparse maps, because they change where the next header starts. Global headers may only contain a comment
 * (as written by `git archive`), because they apply to all entries. Throws `PackageRejected`.
 */
export function checkExtension(type: string, content: Buffer): void {
  if (type === 'L' || type === 'K') return
  const keys = paxKeys(content)
  if (keys === null) refuse('The archive has a malformed PAX header. Pack it with `dart pub publish`.')
  const forbidden = keys.find((key) => (type === 'g' ? key !== 'comment' : key === 'size' || key.startsWith('GNU.sparse')))
  if (forbidden !== undefined)
    refuse(`The archive has a PAX header that sets ${forbidden}, which is not allowed. Pack it with \`dart pub publish\`.`)
}

/** Returns the keys of `length key=value` records, or null if a length does not match its record. Source: POSIX pax, "Extended Header". */
function paxKeys(content: Buffer): string[] | null {
  const text = content.toString('latin1')
  const record = /(\d{1,4}) ([^=\n]+)=/y
  const keys: string[] = []
  for (let end = 0; end < text.length;) {
    record.lastIndex = end
    const [, length, key] = record.exec(text) ?? []
    end += Number(length)
    if (key === undefined || record.lastIndex >= end || text[end - 1] !== '\n' || keys.length === maxRecords) return null
    keys.push(key)
  }
  return keys
}
