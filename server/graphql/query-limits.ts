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
import { invalidInput } from '../errors.ts'

/** Brackets of any kind within each other; a query of the greatest depth with an input object in it needs half of that. */
const maxNesting = 64

/** How many fragments may lead from one to the next, and how many spreads a definition may have with those of its fragments. */
const maxFragments = { chain: 16, spreads: 1000 }

/**
 * Refuses a query whose brackets are nested too deep, before a parser walks into it. Reads its tokens once, without recursion; what is no
 * query at all is for the parser to name.
 * @throws ApiError InvalidInput.
 */
export function refuseDeepQuery(query: string): void {
  if (deepestNesting(query) > maxNesting) throw invalidInput(`query: is nested deeper than ${maxNesting} brackets.`, 'query')
}

/** Refuses queries that the parser or the validation rules cannot handle. */
export const limitQueries: Plugin = {
  onParse({ parseFn, setParseFn }) {
    setParseFn((...query) => refuseStackOverflow(() => parseFn(...query) as DocumentNode))
  },
  onValidate({ params, validateFn, setValidationFn }) {
    refuseTangledFragments(params.documentAST as DocumentNode)
    setValidationFn((...query) => refuseStackOverflow(() => validateFn(...query) as readonly GraphQLError[]))
  },
}

/**
 * Runs work that is recursive by its input.
 * @throws ApiError InvalidInput when it exceeds the stack, and whatever else the work throws.
 */
export function refuseStackOverflow<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof RangeError ? invalidInput('query: is too complex.', 'query') : error
  }
}

/**
 * Refuses fragments that spread themselves, directly or through others, form a long chain or expand into too many: validation rules follow
 * every spread.
 * @throws ApiError InvalidInput that names the fragment.
 */
export function refuseTangledFragments({ definitions }: DocumentNode): void {
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

/** The longest chain of fragments below a definition, and all spreads below it. */
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
