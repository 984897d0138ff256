import { endOfBracket, endOfExpression, endOfInitializers, endOfTypeArguments, isContainer, plainTokenAt } from './tokens.ts'
import { functionName, placeholderFor } from './shapes.ts'
import { type Lead, leadAt, type Span } from './comments.ts'

/** The source range of a directive, declaration or member, without preceding comments and annotations. */
export type Chunk = Span &
  Omit<Lead, 'end'> & {
    /** Body of a class or other type: its start and members. */
    body: { start: number; members: Chunk[] } | null
    /** Initializer list of a constructor. */
    initializers: Span | null
    isEnumValue: boolean
  }

/** A file split into declarations, and the reduced code for the grammar. */
export type Skimmed = {
  chunks: Chunk[]
  /** The text without leading comments and annotations, function bodies and variable values, which the grammar often cannot parse. */
  code: string
  /** Converts an offset in the text to an offset in `code`. */
  toCode(at: number): number
  isClear: boolean
  /** Whether the text has more declarations than the limit. */
  isCutShort: boolean
}

/** Splits a text into at most `limit` declarations and members. */
export function skim(text: string, limit: number): Skimmed {
  const start = text.startsWith('#!') ? (/\n|$/.exec(text)?.index ?? 0) : 0
  const state: State = { text, at: start, cuts: [], left: limit, recoveries: 20, isClear: true, initializers: null }
  const chunks = takeChunks(state, 'file')
  while (state.left > 0 && plainTokenAt(text, state.at).kind !== 'end') {
    state.isClear = false
    state.at = plainTokenAt(text, state.at).end
    chunks.push(...takeChunks(state, 'file'))
  }
  return { chunks, ...cutOut(state), isClear: state.isClear, isCutShort: state.left <= 0 }
}

type State = {
  text: string
  at: number
  cuts: Cut[]
  /** Remaining number of declarations. */
  left: number
  /** Remaining number of recoveries from unclosed brackets. */
  recoveries: number
  isClear: boolean
  /** Initializers of the current declaration. */
  initializers: Span | null
}

/** A range of the source text that is removed, with its replacement. */
type Cut = Span & { instead: string }

type Place = 'file' | 'class' | 'enum values'

/** Reads declarations up to an unmatched closing brace, which is not consumed, or to the end of the text. */
function takeChunks(state: State, from: Place): Chunk[] {
  const chunks: Chunk[] = []
  let place = from
  while (state.left > 0) {
    const { end, ...lead } = leadAt(state.text, state.at)
    cut(state, end, '\n')
    const char = state.text.charAt(end)
    if (char === '' || char === '}') break
    if (char === ';' || char === ',') state.at++
    else {
      state.left--
      state.initializers = null
      const chunk = takeChunk(state, place)
      const initializers = chunk.body === null ? state.initializers : null
      chunks.push({ ...lead, ...chunk, initializers, isEnumValue: place === 'enum values' })
    }
    if (place === 'enum values' && state.text.charAt(state.at - 1) === ';') place = 'class'
  }
  return chunks
}

/** Reads the declaration at the current position. */
function takeChunk(state: State, place: Place): Span & Pick<Chunk, 'body'> {
  const start = state.at
  const head: Head = { place, words: [], isLeading: true }
  for (;;) {
    const token = plainTokenAt(state.text, state.at)
    const text = state.text.slice(token.start, Math.min(token.end, token.start + 20))
    state.at = token.end
    if (token.kind === 'word') passWord(state, head, text)
    else if (token.kind === 'end' || text === '}') return { start, end: (state.at = token.start), body: null }
    else if (token.kind === 'mark') {
      head.isLeading = false
      if (text === ';' || text === '=') renameFunction(state, head, token.start)
      if (text === ';' || (text === ',' && place === 'enum values')) return { start, end: token.end, body: null }
      if (text === '{') return takeBody(state, head, start, token.start)
      passMark(state, head, start, token.start, text)
    }
  }
}

type Head = {
  place: Place
  /** The first words of the declaration, at most five. */
  words: string[]
  isLeading: boolean
}

function passWord(state: State, head: Head, word: string): void {
  if (head.isLeading && head.words.length < 5) head.words.push(word)
  if (word !== 'operator') return
  operator.lastIndex = state.at
  if (operator.test(state.text)) state.at = operator.lastIndex
}

/** Matches the symbol of an operator declaration before its parameters. */
const operator = /\s*(?:==|<=|>=|<<|>>>?|\[\]=?|[<>+\-*/%~&|^]|~\/)\s*(?=\()/y

function passMark(state: State, head: Head, start: number, at: number, mark: string): void {
  const { text } = state
  if (mark === '(' || mark === '[') state.at = endOfBracket(text, at) ?? recover(state, start)
  else if (mark === '<' && head.place === 'enum values') state.at = endOfTypeArguments(text, at) ?? state.at
  else if (mark === '=>') cut(state, endOfExpression(text, state.at, false) ?? recover(state, start), '0')
  else if (mark === '=' && !keepsValue(head.words)) {
    const end = endOfExpression(text, state.at, true) ?? recover(state, start)
    cut(state, end, placeholderFor(text, state.at, end))
  } else if (mark === ':' && head.place === 'class') {
    state.at = at
    const end = endOfInitializers(text, at + 1) ?? recover(state, start)
    state.initializers = { start: at + 1, end }
    cut(state, end, '')
  }
}

/** Renames a variable with the name `Function`, which Dart permits and the grammar does not. `at` is the position of its `=` or `;`. */
function renameFunction({ text, cuts }: State, { words }: Head, at: number): void {
  const name = /\sFunction\s*$/.exec(text.slice(Math.max(at - 40, 0), at))
  if (name === null || words[0] === 'typedef') return
  const start = at - name[0].length + 1
  cuts.push({ start, end: start + 'Function'.length, instead: functionName })
}

const keepsValue = (words: readonly string[]): boolean =>
  words[0] === 'typedef' || words.slice(0, 3).includes('factory') || isContainer(words)

/** Reads the members of a class or other type. Removes the contents of a function body. */
function takeBody(state: State, head: Head, start: number, at: number): Span & Pick<Chunk, 'body'> {
  if (head.place !== 'file' || !isContainer(head.words)) {
    const end = endOfBracket(state.text, at)
    cut(state, end === null ? recover(state, start) : end - 1, '')
    if (state.text.charAt(state.at) === '}') state.at++
    return { start, end: state.at, body: null }
  }
  const members = takeChunks(state, head.words.includes('enum') ? 'enum values' : 'class')
  if (state.text.charAt(state.at) === '}') state.at++
  else state.isClear = false
  return { start, end: state.at, body: { start: at, members } }
}

function cut(state: State, end: number, instead: string): void {
  state.cuts.push({ start: state.at, end, instead })
  state.at = end
}

/** Recovers from an unclosed bracket: continues at the next line that is not indented deeper than the declaration. */
function recover(state: State, start: number): number {
  state.isClear = false
  if (state.recoveries-- <= 0) return state.text.length
  const indent = start - (state.text.lastIndexOf('\n', start) + 1)
  const next = new RegExp(`\\n[ \\t]{0,${Math.min(indent, 80)}}(?=[^\\s)\\]])`, 'g')
  next.lastIndex = start
  const found = next.exec(state.text)
  if (found === null) return state.text.length
  const isOwnBrace = state.text.charAt(next.lastIndex) === '}' && found[0].length > indent
  return next.lastIndex + (isOwnBrace ? 1 : 0)
}

function cutOut({ text, cuts }: State): Pick<Skimmed, 'code' | 'toCode'> {
  const parts: string[] = []
  const [ends, shifts]: [number[], number[]] = [[], []]
  let [at, shift] = [0, 0]
  for (const { start, end, instead } of cuts) {
    parts.push(text.slice(at, start), instead)
    at = end
    shift += instead.length - (end - start)
    ends.push(end)
    shifts.push(shift)
  }
  parts.push(text.slice(at))
  return { code: parts.join(''), toCode: (offset) => offset + (shifts[indexUpTo(ends, offset)] ?? 0) }
}

/** Returns the index of the last number up to `most` in a sorted list, or -1. */
export function indexUpTo(sorted: readonly number[], most: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) <= most) low = middle + 1
    else high = middle
  }
  return low - 1
}
