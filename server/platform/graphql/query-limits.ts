import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  Source,
  TokenKind,
  visit,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { invalidInput } from '../../errors.ts'

/** Maximum nesting of brackets of any kind. A query of the maximum depth with an input object needs half of that. */
const maxNesting = 64

/** Maximum length of a chain of fragments, and maximum number of spreads of a definition, including those of its fragments. */
const maxFragments = { chain: 16, spreads: 1000 }

/**
 * Throws if the brackets of a query are nested too deeply. Scans tokens once, without recursion, before the query is parsed. Syntax errors are left
 * to the parser.
 * @throws ApiError InvalidInput.
 */
export function refuseDeepQuery(query: string): void {
  if (deepestNesting(query) > maxNesting) throw invalidInput(`query: is nested deeper than ${maxNesting} brackets.`, 'query')
}

/** Rejects queries that would overload the parser or the validation rules. */
export const limitQueries: Plugin = {
  onParse({ parseFn, setParseFn }) {
    setParseFn((...query) => refuseStackOverflow(() => parseFn(...query) as DocumentNode))
  },
  onValidate({ params, validateFn, setValidationFn }) {
    refuseComplexFragments(params.documentAST as DocumentNode)
    setValidationFn((...query) => refuseStackOverflow(() => validateFn(...query) as readonly GraphQLError[]))
  },
}

/**
 * Runs a function whose recursion depth depends on its input.
 * @throws ApiError InvalidInput on a stack overflow, and any other error of `work`.
 */
export function refuseStackOverflow<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof RangeError ? invalidInput('query: is too complex.', 'query') : error
  }
}

/**
 * Throws if fragments are cyclic, form a chain that is too long, or expand into too many spreads. Validation rules follow every spread.
 * @throws ApiError InvalidInput that names the fragment.
 */
export function refuseComplexFragments({ definitions }: DocumentNode): void {
  const fragments = new Map(definitions.filter(isFragment).map((node) => [node.name.value, node]))
  const known = new Map<string, Expansion>()
  function expand(node: DefinitionNode, path: string[]): Expansion {
    const expansion = { chain: 0, spreads: 0 }
    for (const name of namesSpreadIn(node)) {
      const { chain, spreads } = expansionOf(name, path)
      expansion.chain = Math.max(expansion.chain, 1 + chain)
      expansion.spreads += 1 + spreads
      if (expansion.chain > maxFragments.chain) throw invalidInput(`query: chains more than ${maxFragments.chain} fragments.`, 'query')
      if (expansion.spreads > maxFragments.spreads)
        throw invalidInput(`query: spreads more than ${maxFragments.spreads} fragments.`, 'query')
    }
    return expansion
  }
  function expansionOf(name: string, path: string[]): Expansion {
    if (path.includes(name)) throw invalidInput(`query: the fragment ${name} spreads itself.`, 'query')
    const fragment = fragments.get(name)
    const expansion = known.get(name) ?? (fragment ? expand(fragment, [...path, name]) : { chain: 0, spreads: 0 })
    known.set(name, expansion)
    return expansion
  }
  for (const node of definitions)
    if (isFragment(node)) expansionOf(node.name.value, [])
    else expand(node, [])
}

/** Length of the longest fragment chain of a definition, and the number of all spreads. */
type Expansion = { chain: number; spreads: number }

const isFragment = (node: DefinitionNode): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION

function namesSpreadIn(node: DefinitionNode): string[] {
  const names: string[] = []
  visit(node, { FragmentSpread: ({ name }) => void names.push(name.value) })
  return names
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
