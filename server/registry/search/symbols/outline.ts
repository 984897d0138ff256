import { deflateRawSync, gunzipSync, inflateRawSync } from 'node:zlib'
import { z } from 'zod'

/**
 * Kinds of symbols and their letters in an outline: capital letters for declarations of a library, small ones for members of a type. Operators and
 * unnamed constructors and extensions are not searched, because they have no name of their own.
 */
export const symbolKinds = {
  C: 'class',
  M: 'mixin',
  X: 'extension',
  Y: 'extension type',
  E: 'enum',
  F: 'function',
  T: 'typedef',
  V: 'variable',
  K: 'constant',
  G: 'getter',
  S: 'setter',
  c: 'constructor',
  m: 'method',
  f: 'field',
  g: 'getter',
  s: 'setter',
  k: 'constant',
  e: 'enum value',
} as const
export type SymbolKind = (typeof symbolKinds)[keyof typeof symbolKinds]

const letters = new Map(Object.entries(symbolKinds).map(([letter, kind]) => [`${letter < 'a'} ${kind}`, letter]))
const letterOf = (kind: string, isMember: boolean) => letters.get(`${!isMember} ${kind}`)

/** The part of an API outline (server/analysis/dart/surface.ts) that is searched. */
const surfaceSchema = z.object({
  declarations: z.array(
    z.object({ kind: z.string(), name: z.string(), members: z.array(z.object({ kind: z.string(), name: z.string() })).optional() }),
  ),
  libraries: z.array(z.object({ path: z.string(), shows: z.array(z.int().nonnegative()) })),
})
type Surface = z.infer<typeof surfaceSchema>

/** Maximum length in bytes of a gzipped API outline, and of its content. The symbols of larger ones are not searched. */
export const maxSurfaceBytes = 1024 ** 2
const maxContentBytes = 8 * 1024 ** 2
/** Number of characters after which an outline continues in another part, so that a match in a large package costs no more than others. */
const partLength = 12_000
/** Maximum number of parts of a package. */
export const maxParts = 1024
/** Number of members on a line. Types with more members have several lines. */
const membersAtOnce = 200

/**
 * Converts a gzipped API outline to the form that is searched, in parts. The first line of a part has the paths of its libraries. Each other line is a
 * declaration: its letter and name, the index of its library, and the letters and names of its members.
 */
export function outlinesOf(surface: Uint8Array, packageName: string): string[] {
  const read = readSurface(surface)
  if (!read) return []
  const owners = ownersOf(read, packageName)
  const lines = read.declarations.flatMap(({ kind, name, members = [] }, index) => {
    const [letter, library] = [letterOf(kind, false), read.libraries[owners.get(index) ?? -1]]
    if (letter === undefined || library === undefined || !searchable.test(name)) return []
    const names = [...new Set(members.flatMap((member) => memberEntry(member)))]
    return slicesOf(names).map((slice) => ({
      name: letter + name,
      library: library.path,
      members: slice.map((entry) => ` ${entry}`).join(''),
    }))
  })
  return partsOf(lines).slice(0, maxParts)
}

const slicesOf = (names: readonly string[]): string[][] =>
  Array.from({ length: Math.max(1, Math.ceil(names.length / membersAtOnce)) }, (_, index) =>
    names.slice(index * membersAtOnce, (index + 1) * membersAtOnce),
  )

type Line = { name: string; library: string; members: string }

function partsOf(lines: readonly Line[]): string[] {
  const parts: string[] = []
  let [libraries, body]: [string[], string] = [[], '']
  const finish = () => {
    if (body !== '') parts.push(libraries.join('\t') + body)
    ;[libraries, body] = [[], '']
  }
  for (const { name, library, members } of lines) {
    if (!libraries.includes(library)) libraries.push(library)
    body += `\n${name}\t${libraries.indexOf(library)}${members}`
    if (body.length > partLength) finish()
  }
  finish()
  return parts
}

const searchable = /^[a-z$][\w$]{0,99}$/i

function memberEntry({ kind, name }: { kind: string; name: string }): string[] {
  const letter = letterOf(kind, true)
  const own = kind === 'constructor' ? name.slice(name.indexOf('.') + 1 || name.length) : name
  return letter === undefined || !searchable.test(own) || ofObject.has(own) ? [] : [letter + own]
}

/** Members that nearly every type overrides. */
const ofObject: ReadonlySet<string> = new Set(['hashCode', 'toString', 'noSuchMethod', 'runtimeType', 'debugFillProperties'])

function readSurface(surface: Uint8Array): Surface | null {
  try {
    return surfaceSchema.safeParse(JSON.parse(gunzipSync(surface, { maxOutputLength: maxContentBytes }).toString())).data ?? null
  } catch {
    return null
  }
}

/** Returns the library that documents each declaration: the package's main library if it exports the declaration, else the first one by path. */
function ownersOf({ libraries }: Surface, packageName: string): Map<number, number> {
  const owners = new Map<number, number>()
  const main = libraries.findIndex(({ path }) => path === `${packageName}.dart`)
  for (const [index, { shows }] of libraries.entries())
    for (const declaration of shows) if (index === main || !owners.has(declaration)) owners.set(declaration, index)
  return owners
}

/** Compresses an outline for the database. */
export const packOutline = (outline: string): Buffer => deflateRawSync(outline)
export const unpackOutline = (packed: Uint8Array): string => inflateRawSync(packed).toString('latin1')

/**
 * The marks of index terms. `type`, `member`: whole names of declarations and of members. `inType`, `inMember`: the rest of a name from each of its
 * later words on, such as `policy` of `RetryPolicy`. `package`: the name of the package.
 */
export const marks = { type: '◆', inType: '◈', member: '◇', inMember: '◊', package: '◉' } as const

/** Encodes a name as an index term. The underscore and the dollar sign separate words in SQLite's index. */
export const symbolTerm = (mark: keyof typeof marks, name: string): string =>
  marks[mark] + name.toLowerCase().replaceAll('_', '‿').replaceAll('$', '¤')

/** Splits a name at its capital letters, underscores and digits: `HttpClient2` → `Http`, `Client`, `2`. */
export const humpsOf = (name: string): RegExpExecArray[] => [...name.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g)]

/** Returns the index terms of a part of an outline. */
export function termsOfOutline(outline: string, packageName: string): string[] {
  const terms = new Set([symbolTerm('package', packageName)])
  for (const [, letter = '', name = ''] of outline.slice(outline.indexOf('\n')).matchAll(/[\n ]([A-Za-z])([\w$]+)/g)) {
    const isMember = letter >= 'a'
    terms.add(symbolTerm(isMember ? 'member' : 'type', name))
    for (const { index } of humpsOf(name))
      if (index > 0 && name.length - index > 1) terms.add(symbolTerm(isMember ? 'inMember' : 'inType', name.slice(index)))
  }
  return [...terms]
}
