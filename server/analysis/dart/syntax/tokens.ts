import { endOfComment, endOfString } from './nesting.ts'

export type Token = { kind: 'word' | 'string' | 'number' | 'mark' | 'comment' | 'end'; start: number; end: number }

/** Returns the token at or after `from`, including comments. Returns a token of kind `end` at the end of the text. */
export function tokenAt(text: string, from: number): Token {
  blank.lastIndex = from
  blank.test(text)
  const start = blank.lastIndex
  if (start >= text.length) return { kind: 'end', start: text.length, end: text.length }
  const string = endOfString(text, start)
  if (string !== null) return { kind: 'string', start, end: string }
  const comment = endOfComment(text, start)
  if (comment !== null) return { kind: 'comment', start, end: comment }
  const [kind, end] = shapeAt(text, start)
  return { kind, start, end }
}

/** Like `tokenAt`, but skips comments. */
export function plainTokenAt(text: string, from: number): Token {
  let token = tokenAt(text, from)
  while (token.kind === 'comment') token = tokenAt(text, token.end)
  return token
}

const blank = /[\s\u{feff}]*/uy
const word = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const number = /\d[\d_a-zA-Z]*(?:\.\d[\d_]*(?:[eE][+-]?\d+)?)?/y
/** Multi-character tokens that contain `=` or `>` with another meaning than the single character. */
const mark = /=>|[=!<>]=|\?\?=|\.{2,3}\??|\?\.|[+\-*/%&|^~]=|./suy

function shapeAt(text: string, start: number): ['word' | 'number' | 'mark', number] {
  for (const [kind, pattern] of shapes) {
    pattern.lastIndex = start
    if (pattern.test(text)) return [kind, pattern.lastIndex]
  }
  return ['mark', start + 1]
}

const shapes = [
  ['word', word],
  ['number', number],
  ['mark', mark],
] as const
