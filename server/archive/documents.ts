/** A text file that the registry keeps: its path in the archive and its text, cut to the limit. */
export type TextFile = { path: string; text: string }

/** The documents found at the root of an archive, in the best form that it has of each. */
export type RootDocument = 'readme' | 'changelog' | 'license'

export const rootDocuments: readonly RootDocument[] = ['readme', 'changelog', 'license']

/** How well a root file serves as a document: 0 is best, null is not at all. `README.md` before `README`, `README.txt` and the rest; case does not count. */
export function documentRank(kind: RootDocument, path: string): number | null {
  const lower = path.toLowerCase()
  const rank = lower.startsWith(kind) ? extensions.indexOf(lower.slice(kind.length)) : -1
  return rank < 0 ? null : rank
}

/** Whether a file can be the example of some package, so that it is worth keeping until the name is known. */
export function mayBeExample(path: string): boolean {
  return possibleExample.test(path)
}

/** The example of a package out of its candidates, else null. The order is that of pub.dev. */
export function pickExample(candidates: readonly TextFile[], packageName: string): TextFile | null {
  const byPath = new Map(candidates.map((candidate) => [candidate.path.toLowerCase(), candidate]))
  const found = exampleOrder(packageName).find((path) => byPath.has(path))
  return (found !== undefined && byPath.get(found)) || null
}

/** UTF-8 text of a file, at most `limit` bytes of it, cut between characters; broken characters and NUL (which PostgreSQL cannot store) become U+FFFD. */
export function textOf(content: Buffer, limit: number): string {
  const text = decoder.decode(uncut(content, limit)).replaceAll('\0', '\ufffd')
  return Buffer.byteLength(text) > limit ? decoder.decode(uncut(Buffer.from(text), limit)) : text
}

const extensions = ['.md', '', '.txt', '.markdown', '.mkd', '.rst']
const possibleExample = /^example\/(?:example\.md|readme\.md|(?:(?:lib|bin)\/)?\w{1,72}\.dart)$/i
const decoder = new TextDecoder()

function exampleOrder(name: string): string[] {
  const programs = ['main', name, `${name}_example`, 'example'].flatMap((program) =>
    ['lib/', 'bin/', ''].map((folder) => `${folder}${program}.dart`),
  )
  return ['example.md', ...programs, 'readme.md'].map((file) => `example/${file}`)
}

/** The longest beginning that does not end within a character. */
function uncut(content: Buffer, limit: number): Buffer {
  if (content.length <= limit) return content
  let end = limit
  while (end > limit - 4 && end > 0 && ((content[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return content.subarray(0, end)
}
