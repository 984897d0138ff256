import { type Declaration, isNamedType, type Member } from './api.ts'
import {
  type Around,
  declarationsOf,
  type Head,
  isPublicName,
  type MemberAround,
  membersOf,
  readHead,
  withFieldTypes,
} from './declarations.ts'
import { type Directives, parseDirective } from './directives.ts'
import { expandConstructor, findPrimary, isPrimaryBody, membersOfPrimary, type Primary, withoutPrimary } from './syntax/primary.ts'
import type { Shape } from './syntax/shapes.ts'
import { type Chunk, indexUpTo, skim } from './syntax/skim.ts'
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
  /** Number of steps that the parser took. */
  steps: number
  isClear: boolean
  /** Whether a limit was reached, so that declarations are missing. */
  isCutShort: boolean
}

/** Access to the text of a file. */
type Reading = {
  text: string
  /** Returns the code of a chunk up to `end`, as passed to the grammar. */
  codeOf(chunk: Chunk, end?: number): string
  around(chunk: Chunk): Around
  aroundMember(chunk: Chunk): MemberAround
}

/** Parses a file with at most `limit` declarations and members. */
export function readDartFile(grammar: Grammar, path: string, text: string, limit: number): SourceFile {
  const { chunks, code, toCode, isClear, isCutShort } = skim(text, limit)
  const newlines = Array.from(text.matchAll(/\n/g), ({ index }) => index)
  const reading: Reading = {
    text,
    codeOf: ({ start, end: all }, end = all) => code.slice(toCode(start), toCode(end)),
    aroundMember: (chunk) => ({
      ...reading.around(chunk),
      ...(chunk.initializers !== null && superConstructorIn(text.slice(chunk.initializers.start, chunk.initializers.end))),
      isOverride: chunk.annotations.some(({ start, end }) => /^@\s*override$/.test(text.slice(start, end))),
    }),
    around: ({ docs, annotations, start }) => ({
      doc: markdownOf(text, docs),
      deprecated: deprecationOf(text, annotations),
      source: { path, line: indexUpTo(newlines, start - 1) + 2 },
    }),
  }
  const directives: Directives = { library: null, partOf: null, parts: [], imports: [] }
  const first = chunks.findIndex((chunk) => chunk.body !== null || !parseDirective(reading.codeOf(chunk), directives))
  const leading = first === -1 ? chunks : chunks.slice(0, first)
  const documented = leading.find((chunk) => reading.codeOf(chunk).startsWith('library')) ?? leading[0]
  const entries = chunks.slice(leading.length).map((chunk) => entryOf(reading, chunk))
  const pieces = entries.flatMap((entry) => entry.pieces.flatMap(({ piece }) => piece ?? []))
  const { shapes, steps, ...parsed } = shapesOf(grammar, pieces)
  const byPiece = new Map(pieces.map((piece, index) => [piece, shapes[index] ?? null]))
  const all = entries.flatMap((entry) => declared(reading, entry, byPiece))
  return {
    ...directives,
    path,
    doc: documented === undefined ? null : reading.around(documented).doc,
    declarations: all.filter(isShown),
    hidden: all.filter((each) => !isShown(each) && isNamedType(each)),
    size: entries.length + pieces.length,
    steps,
    isClear: isClear && !shapes.includes(null),
    isCutShort: isCutShort || parsed.isCutShort,
  }
}

/** Returns the name of the superclass constructor that the initializers call, if it is a named one. */
function superConstructorIn(initializers: string): Pick<Member, 'superConstructor'> {
  const superConstructor = /(?:^|,)\s*super\s*\.\s*([\w$]+)\s*\(/.exec(initializers)?.[1]
  return superConstructor === undefined ? {} : { superConstructor }
}

/** Whether other libraries can create instances of a type, directly or through a subclass. */
const isMadeByOthers = (head: string): boolean => !/^(?:enum|sealed|abstract (?:final|interface))\b/.test(head)

/** Whether other libraries can call a member, if it is a constructor. */
const isCallable = ({ kind, signature }: Member, head: string): boolean =>
  kind !== 'constructor' || /^(?:const )?factory\b/.test(signature) || isMadeByOthers(head)

type Entry = { chunk: Chunk; head: Head | null; pieces: { chunk: Chunk; piece: Piece | null }[] }

/** Whether a declaration belongs to the public API: it is public and not marked with `@nodoc`. */
const isShown = ({ name, doc }: { name: string; doc: string | null }): boolean => isPublicName(name) && !/@nodoc\b|<nodoc>/.test(doc ?? '')

function entryOf(reading: Reading, chunk: Chunk): Entry {
  const { text, codeOf } = reading
  const end = chunk.body?.start ?? chunk.end
  const primary = findPrimary(text, chunk.start)
  const isHidden = primary !== null && !primary.isExtensionType
  const head = readHead(isHidden ? withoutPrimary(text, chunk.start, end, primary) : codeOf(chunk, end))
  if (head === null) return { chunk, head, pieces: [{ chunk, piece: { code: codeOf(chunk), isMember: false } }] }
  const all = chunk.body?.members ?? []
  const body = all.find((member) => !member.isEnumValue && isPrimaryBody(codeOf(member)))
  const pieceOf = (member: Chunk) => (member.isEnumValue ? null : { code: expandConstructor(codeOf(member), head.name), isMember: true })
  const members = all.filter((member) => member !== body).map((member) => ({ chunk: member, piece: pieceOf(member) }))
  return { chunk, head, pieces: [...impliedPieces(reading, primary, head, { chunk, body }), ...members] }
}

type ClassChunks = { chunk: Chunk; body: Chunk | undefined }

/** Returns the members that a primary constructor declares. The constructor has the comment and the initializers of its part in the body. */
function impliedPieces(
  { text }: Reading,
  primary: Primary | null,
  { kind, supertypes }: Head,
  { chunk, body }: ClassChunks,
): Entry['pieces'] {
  if (primary === null) return []
  const isConst = kind === 'enum' || primary.modifier.end > primary.modifier.start
  const [constructor, ...fields] = membersOfPrimary(text, primary, isConst, kind !== 'extension type' && supertypes.length > 0)
  const { docs = [], annotations = [], initializers = null } = body ?? {}
  const implied = constructor && [{ ...constructor, chunk: { ...constructor.chunk, start: chunk.start, docs, annotations, initializers } }]
  return [...(implied ?? []), ...fields].map(({ code, chunk: own }) => ({ chunk: own, piece: { code, isMember: true } }))
}

function declared(reading: Reading, { chunk, head, pieces }: Entry, shapes: ReadonlyMap<Piece, Shape | null>): Declaration[] {
  const around = reading.around(chunk)
  const shapeOf = (piece: Piece | null) => (piece && shapes.get(piece)) ?? null
  if (head === null) {
    const shape = shapeOf(pieces[0]?.piece ?? null)
    return shape === null ? [] : declarationsOf(shape, around)
  }
  const { kind, name, signature, supertypes } = head
  const all = pieces.flatMap((member): Member[] => {
    if (member.piece === null) return enumValues(reading, member.chunk)
    const shape = shapeOf(member.piece)
    return shape === null ? [] : membersOf(shape, name, reading.aroundMember(member.chunk))
  })
  const shown = all.filter((member) => isShown(member) && isCallable(member, signature))
  // A mixin application (`class A = B with C;`) takes over the constructors of another class.
  const isRead = !/ = /.test(signature) && pieces.every(({ piece }) => piece === null || shapeOf(piece) !== null)
  return [
    {
      ...around,
      kind,
      name,
      signature,
      supertypes,
      members: withFieldTypes(shown, all),
      ...(kind === 'class' &&
        isRead && { hasDefaultConstructor: isMadeByOthers(signature) && all.every((member) => member.kind !== 'constructor') }),
    },
  ]
}

function enumValues({ codeOf, aroundMember }: Reading, chunk: Chunk): Member[] {
  const name = /^[\w$]+/.exec(codeOf(chunk))?.[0]
  return name === undefined ? [] : [{ ...aroundMember(chunk), kind: 'enum value', name, signature: name, isStatic: true }]
}
