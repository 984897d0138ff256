import type { Declaration, Member } from './api.ts'
import { type Around, declarationsOf, isPublic, type MemberAround, membersOf, primaryMembers, withFieldTypes } from './declarations.ts'
import { type Directives, takeDirective } from './directives.ts'
import { type Head, readHead } from './heads.ts'
import type { Shape } from './syntax/shapes.ts'
import { type Chunk, skim } from './syntax/skim.ts'
import { type Grammar, type Piece, shapesOf } from './syntax/grammar.ts'
import { deprecationOf, markdownOf } from './syntax/comments.ts'

/** The parsed contents of one file. */
export type SourceFile = Directives & {
  path: string
  /** Doc comment of the `library` directive, else of the first directive. */
  doc: string | null
  /** The public declarations of the file. */
  declarations: Declaration[]
  /** Types that are private or marked with `@nodoc`. */
  hidden: Declaration[]
  /** Number of declarations and members in the file. */
  size: number
  isClear: boolean
}

type Reading = {
  file: SourceFile
  /** Returns a range of the text as passed to the grammar. */
  codeOf(from: number, to: number): string
  around(chunk: Chunk): Around
  aroundMember(chunk: Chunk): MemberAround
}

/** Parses a file with at most `limit` declarations and members. */
export function readFile(grammar: Grammar, path: string, text: string, limit: number): SourceFile {
  const { chunks, code, toCode, isClear } = skim(text, limit)
  const file: SourceFile = {
    path,
    doc: null,
    library: null,
    partOf: null,
    parts: [],
    imports: [],
    declarations: [],
    hidden: [],
    size: 0,
    isClear,
  }
  const lineOf = lineCounter(text)
  const reading: Reading = {
    file,
    codeOf: (from, to) => code.slice(toCode(from), toCode(to)),
    aroundMember: (chunk) => ({
      ...reading.around(chunk),
      ...(chunk.initializers !== null && superConstructorIn(text.slice(chunk.initializers.start, chunk.initializers.end))),
      isOverride: chunk.annotations.some(({ start, end }) => /^@\s*override$/.test(text.slice(start, end))),
    }),
    around: ({ docs, annotations, start }) => ({
      doc: markdownOf(text, docs),
      deprecated: deprecationOf(text, annotations),
      source: { path, line: lineOf(start) },
    }),
  }
  takeAll(grammar, reading, takeDirectives(reading, chunks))
  return file
}

/** Returns the name of the superclass constructor that the initializers call, if it is a named one. */
function superConstructorIn(initializers: string): Pick<Member, 'superConstructor'> {
  const superConstructor = /(?:^|,)\s*super\s*\.\s*([\w$]+)\s*\(/.exec(initializers)?.[1]
  return superConstructor === undefined ? {} : { superConstructor }
}

/** Parses the leading directives and returns the remaining chunks. */
function takeDirectives({ file, codeOf, around }: Reading, chunks: readonly Chunk[]): Chunk[] {
  const first = chunks.findIndex(({ start, end, body }) => body !== null || !takeDirective(codeOf(start, end), file))
  const directives = first === -1 ? chunks : chunks.slice(0, first)
  const library = directives.find(({ start, end }) => codeOf(start, end).startsWith('library')) ?? directives[0]
  if (library !== undefined) file.doc = around(library).doc
  return chunks.slice(directives.length)
}

/**
 * Whether other libraries can create instances of a type, directly or through a subclass: not of enums, sealed classes, or abstract classes that
 * cannot be extended.
 */
const isMadeByOthers = (head: string): boolean => !/^(?:enum|sealed|abstract (?:final|interface))\b/.test(head)

/** Whether other libraries can call a member, if it is a constructor. */
const isCallable = ({ kind, signature }: Member, head: string): boolean =>
  kind !== 'constructor' || /^(?:const )?factory\b/.test(signature) || isMadeByOthers(head)

type Entry = { chunk: Chunk; head: Head | null; pieces: { chunk: Chunk; piece: Piece | null }[] }

function takeAll(grammar: Grammar, reading: Reading, chunks: readonly Chunk[]): void {
  const entries = chunks.map((chunk) => entryOf(reading, chunk))
  const pieces = entries.flatMap((entry) => entry.pieces.flatMap(({ piece }) => piece ?? []))
  const shapes = shapesOf(grammar, pieces)
  const { file } = reading
  file.size = chunks.length + pieces.length
  if (shapes.includes(null)) file.isClear = false
  const byPiece = new Map(pieces.map((piece, index) => [piece, shapes[index] ?? null]))
  for (const each of entries.flatMap((entry) => declared(reading, entry, byPiece))) {
    if (isShown(each)) file.declarations.push(each)
    else if (hiddenKinds.has(each.kind)) file.hidden.push(each)
  }
}

const hiddenKinds = new Set<Declaration['kind']>(['class', 'mixin', 'extension type', 'enum', 'typedef'])

/** Whether a declaration belongs to the public API: it is public and not marked with `@nodoc`. */
const isShown = ({ name, doc }: { name: string; doc: string | null }): boolean => isPublic(name) && !/@nodoc\b|<nodoc>/.test(doc ?? '')

function entryOf({ codeOf }: Reading, chunk: Chunk): Entry {
  const head = readHead(codeOf(chunk.start, chunk.body?.start ?? chunk.end))
  if (head === null) return { chunk, head, pieces: [{ chunk, piece: { code: codeOf(chunk.start, chunk.end), isMember: false } }] }
  const members = chunk.body?.members ?? []
  const pieceOf = ({ start, end, isEnumValue }: Chunk) => (isEnumValue ? null : { code: codeOf(start, end), isMember: true })
  return { chunk, head, pieces: members.map((member) => ({ chunk: member, piece: pieceOf(member) })) }
}

function declared(reading: Reading, { chunk, head, pieces }: Entry, shapes: ReadonlyMap<Piece, Shape | null>): Declaration[] {
  const around = reading.around(chunk)
  if (head === null)
    return pieces.flatMap(({ piece }) => (piece === null ? [] : shaped(shapes.get(piece), (shape) => declarationsOf(shape, around))))
  const { kind, name, signature, supertypes } = head
  const members = pieces.flatMap((member): Member[] => {
    if (member.piece === null) return enumValues(reading, member.chunk)
    return shaped(shapes.get(member.piece), (shape) => membersOf(shape, name, reading.aroundMember(member.chunk)))
  })
  const all = [...primaryMembers(head, around), ...members]
  // A class without a body (`class A = B with C;`) takes over the constructors of another class.
  const isRead = chunk.body !== null && pieces.every(({ piece }) => piece === null || shapes.get(piece) != null)
  return [
    {
      ...around,
      kind,
      name,
      signature,
      supertypes,
      members: withFieldTypes(
        all.filter((member) => isShown(member) && isCallable(member, signature)),
        all,
      ),
      ...(kind === 'class' &&
        isRead && { hasDefaultConstructor: isMadeByOthers(signature) && all.every((member) => member.kind !== 'constructor') }),
    },
  ]
}

const shaped = <T>(shape: Shape | null | undefined, take: (shape: Shape) => T[]): T[] => (shape == null ? [] : take(shape))

function enumValues({ codeOf, aroundMember }: Reading, chunk: Chunk): Member[] {
  const name = /^[\w$]+/.exec(codeOf(chunk.start, chunk.end))?.[0]
  return name === undefined ? [] : [{ ...aroundMember(chunk), kind: 'enum value', name, signature: name, isStatic: true }]
}

/** Returns a function that converts an offset to a line number, starting at 1. Fast for ascending offsets. */
function lineCounter(text: string): (at: number) => number {
  const endFrom = (from: number) => {
    const end = text.indexOf('\n', from)
    return end === -1 ? text.length : end
  }
  let line = 1
  let from = 0
  let end = endFrom(0)
  return (at) => {
    if (at < from) [line, from, end] = [1, 0, endFrom(0)]
    for (; end < at; end = endFrom(from)) {
      line += 1
      from = end + 1
    }
    return line
  }
}
