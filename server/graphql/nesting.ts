import { GraphQLError, Lexer, Source, TokenKind } from 'graphql'
import { invalidInput } from '../errors.ts'

/** Brackets of any kind within each other; a query of the greatest depth with an input object in it needs half of that. */
const maxNesting = 64

/**
 * Refuses a query whose brackets are nested too deep, before a parser walks into it. Reads its tokens once, without recursion; what is no
 * query at all is for the parser to name.
 * @throws ApiError InvalidInput.
 */
export function refuseDeepQuery(query: string): void {
  if (deepestNesting(query) > maxNesting) throw invalidInput(`query: is nested deeper than ${maxNesting} brackets.`, 'query')
}

function deepestNesting(query: string): number {
  const lexer = new Lexer(new Source(query))
  let [depth, deepest] = [0, 0]
  try {
    for (let { kind } = lexer.advance(); kind !== TokenKind.EOF; { kind } = lexer.advance()) {
      if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) depth++
      else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R) depth--
      deepest = Math.max(deepest, depth)
      if (deepest > maxNesting) break
    }
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
  }
  return deepest
}
