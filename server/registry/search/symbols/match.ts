import { humpsOf, type SymbolKind, symbolKinds } from './outline.ts'

/** A word of a query: as typed, in lower case, and split at its capital letters (`RetPol` → `ret`, `pol`). */
export type SymbolWord = { typed: string; whole: string; parts: readonly string[] }

/** A symbol of a package. `parent`: the type that declares the member; null for declarations of a library. `library`: the path below `lib/`. */
export type ApiSymbol = { name: string; kind: SymbolKind; parent: string | null; library: string }

/** A matching symbol. `score` orders exact matches, and other matches. */
export type SymbolMatch = { symbol: ApiSymbol; score: number }

const maxWords = 4

/** Splits a query into words, such as `RetryPolicy` or `User.copyWith`. Returns null if no name can match. */
export function symbolWords(query: string): SymbolWord[] | null {
  const words = query.split(/[^\p{L}\p{N}\p{M}_$]+/u).filter((word) => word !== '')
  if (words.length === 0 || words.length > maxWords || words.some((word) => !/^[\w$]{1,100}$/.test(word))) return null
  return words.map((word) => {
    const parts = humpsOf(word).map(([part]) => part.toLowerCase())
    const whole = word.toLowerCase()
    return { typed: word, whole, parts: parts.length > 1 && parts.join('') === whole ? parts : [whole] }
  })
}

/** How well a word matches a name: the whole name, its beginning, the beginnings of its words, or not. */
const grades = { exact: 3, beginning: 2, words: 1, none: 0 } as const
type Grade = (typeof grades)[keyof typeof grades]

function gradeOf(name: string, { whole, parts }: SymbolWord): Grade {
  const lower = name.toLowerCase()
  if (lower === whole) return grades.exact
  if (lower.startsWith(whole)) return grades.beginning
  if (whole.length < 2) return grades.none
  const humps = humpsOf(name)
  if (humps.some(({ index }) => lower.startsWith(whole, index))) return grades.words
  if (parts.length < 2) return grades.none
  let matched = 0
  for (const [hump] of humps) if (hump.toLowerCase().startsWith(parts[matched] ?? '\0')) matched += 1
  return matched === parts.length ? grades.words : grades.none
}

/**
 * Returns the symbols of an outline that match all words. Every word must match the name of the symbol, or that of its type or package; at least one
 * must match the symbol itself. `wantsExact`: returns either exact matches or the others. Looks only at names with a word that starts like a word of the query.
 */
export function matchOutline(outline: string, packageName: string, words: readonly SymbolWord[], wantsExact: boolean): SymbolMatch[] {
  const libraries = outline.slice(0, outline.indexOf('\n')).split('\t')
  const joined = words.map(({ whole }) => whole).join('')
  const wholes = new Set([joined, ...words.map(({ whole }) => whole)])
  const found: SymbolMatch[] = []
  for (const start of namesContaining(outline, new Set(words.map(({ parts: [first = ''] }) => first)))) {
    const name = nameAt(outline, start)
    if (wantsExact && !wholes.has(name.toLowerCase())) continue
    const own = words.map((word) => gradeOf(name, word))
    if (!own.some((grade) => grade > grades.none)) continue
    const line = outline.lastIndexOf('\n', start) + 1
    const typeName = nameAt(outline, line)
    const parent = start === line ? null : typeName
    const others = words.map((word, index) =>
      own[index] === grades.none && words.length > 1
        ? Math.max(packageName === word.whole ? grades.exact : grades.none, parent === null ? grades.none : gradeOf(parent, word))
        : (own[index] ?? grades.none),
    )
    const library = libraries[Number.parseInt(outline.slice(line + typeName.length + 2, line + typeName.length + 6))]
    if (others.includes(grades.none) || library === undefined) continue
    const kind = symbolKinds[outline[start] as keyof typeof symbolKinds]
    const isExact = name.toLowerCase() === joined || others.every((one) => one === grades.exact)
    if (isExact !== wantsExact) continue
    const asTyped = words.some(({ typed }) => typed === name) ? 0.3 : 0
    const score = scoreOf(kind, parent !== null, others) + Math.min(1, joined.length / name.length) / 2 + asTyped
    found.push({ symbol: { name, kind, parent, library }, score })
  }
  return found
}

/** Returns the name whose letter is at `start`. */
function nameAt(outline: string, start: number): string {
  let end = start + 1
  while (isInName(outline, end)) end += 1
  return outline.slice(start + 1, end)
}

/** Whether the character at an index belongs to a name, and not to the space around it. */
const isInName = (outline: string, index: number) => outline.charCodeAt(index) > 32

const isSmall = (outline: string, index: number) => outline.charCodeAt(index) >= 97 && outline.charCodeAt(index) <= 122

/** Yields where the names with a word that starts with one of these texts start, with their letters. The first line has no names. */
function* namesContaining(outline: string, texts: ReadonlySet<string>): Generator<number> {
  const lower = outline.toLowerCase()
  const seen = new Set<number>()
  const first = lower.indexOf('\n')
  for (const text of texts) {
    for (let at = lower.indexOf(text, first); at >= 0; at = lower.indexOf(text, at + 1)) {
      if (isSmall(outline, at) && isSmall(outline, at - 1) && isInName(outline, at - 2)) continue
      let start = at
      while (isInName(lower, start - 1)) start -= 1
      // The letter of the kind and the index of the library do not belong to the name.
      if (start === at || lower[start - 1] === '\t' || seen.has(start)) continue
      seen.add(start)
      yield start
    }
  }
}

const types: ReadonlySet<SymbolKind> = new Set(['class', 'mixin', 'extension', 'extension type', 'enum', 'typedef'])

/** Scores a match from 0 to 2: types before functions and variables, and these before members; then by match. */
function scoreOf(kind: SymbolKind, isMember: boolean, ofWords: readonly number[]): number {
  const byKind = types.has(kind) ? 1 : isMember ? 0 : 0.75
  return byKind + ofWords.reduce((sum, grade) => sum + grade, 0) / ofWords.length / grades.exact
}
