import { refuse } from './refuse.ts'

/** Longest extension header in bytes: the client's own reader takes no more (package:tar, `defaultSpecialLength`). */
export const maxExtension = 2048

/** Writers of tar know about a dozen keys. */
const maxRecords = 32

/** Whether a tar type flag says something about the next entry: PAX `x` and `g`, GNU long name `L` and long link `K`. */
export const isExtension = (type: string) => 'xgLK'.includes(type)

/**
 * Refuses a PAX header that does more than name an entry, its times and its owner: `size` and sparse maps move the frame, and a global header
 * (`git archive` writes one with a comment) must not reach into every entry. Throws `PackageRejected`.
 */
export function checkExtension(type: string, content: Buffer): void {
  if (type === 'L' || type === 'K') return
  const keys = paxKeys(content)
  if (keys === null) refuse('The archive has a malformed PAX header. Pack it with `dart pub publish`.')
  const forbidden = keys.find((key) => (type === 'g' ? key !== 'comment' : key === 'size' || key.startsWith('GNU.sparse')))
  if (forbidden !== undefined)
    refuse(`The archive has a PAX header that sets ${forbidden}, which is not allowed. Pack it with \`dart pub publish\`.`)
}

/** The keys of `length key=value` records, or null where a length does not lead from one line end to the next. POSIX pax, "Extended Header". */
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
