import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  Source,
  specifiedRules,
  validate,
  validateInputLiteral,
  type ValidationContext,
  type ValidationRule,
  type ValueNode,
  ValuesOfCorrectTypeRule,
  type DefinitionNode,
  type FragmentDefinitionNode,
  Kind,
  Lexer,
  TokenKind,
  visit,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Services } from '../../services.ts'
import { namesField, invalidValueError } from './errors.ts'
import { invalidInput } from '../../errors.ts'

/** Reports invalid literals like invalid variables: with the argument's name and the path within it. */
export const reportInvalidLiterals: Plugin = {
  onValidate({ setValidationFn }) {
    setValidationFn((schema: GraphQLSchema, document: DocumentNode, rules: readonly ValidationRule[] = specifiedRules) =>
      validate(
        schema,
        document,
        rules.map((rule) => (rule === ValuesOfCorrectTypeRule ? namedValuesRule : rule)),
      ),
    )
  },
}

/** Replaces `ValuesOfCorrectTypeRule`. Checks literals in arguments of fields and directives, and default values of variables. */
function namedValuesRule(context: ValidationContext): ASTVisitor {
  const check = (name: string, value: ValueNode | undefined, type: GraphQLInputType | null | undefined) => {
    if (!value || !type) return
    const report = (error: GraphQLError, path: readonly (string | number)[]) => context.reportError(named(error, name, path, value))
    validateInputLiteral(value, type, report, undefined, undefined, context.hideSuggestions)
  }
  return {
    Argument: ({ name, value }) => check(name.value, value, context.getInputType()),
    VariableDefinition: ({ variable, defaultValue }) => check(variable.name.value, defaultValue, context.getInputType()),
  }
}

function named(error: GraphQLError, name: string, path: readonly (string | number)[], value: ValueNode): GraphQLError {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
  // Errors within `input` name its fields. An error about the whole object names `input`.
  const isMember = name === 'input' && (place !== '' || namesField(error.message))
  const { message, status, extensions } = invalidValueError(isMember ? '' : name, place, error.message)
  // Without `spec: false`, Yoga responds to validation errors with status 200.
  return new GraphQLError(message, { nodes: error.nodes ?? value, extensions: { ...extensions, http: { status, spec: false } } })
}

declare module '../caches/caches.ts' {
  interface CachedValues {
    graphql: DocumentNode
  }
}

/** Caches parsed documents that are valid, so that each is parsed and validated once. */
export function cacheDocuments({ graphql: documents }: Services['caches']): Plugin {
  const valid = new WeakSet<DocumentNode>()
  return {
    onParse({ params, setParsedDocument }) {
      const source = params.source as string | Source
      const known = documents.get(typeof source === 'string' ? source : source.body)
      if (known) setParsedDocument(known)
    },
    onValidate({ params: { documentAST }, setResult }) {
      const document = documentAST as DocumentNode
      if (valid.has(document)) return setResult([])
      return ({ valid: isValid }) => {
        const text = document.loc?.source.body
        if (!isValid || text === undefined) return
        valid.add(document)
        documents.set(text, document, { size: documentBytes(document, text) })
      }
    },
  }
}

/** Estimates the memory use of a parsed document, at most. Nodes have locations, and all tokens are kept, comments included. */
export const documentBytes = ({ tokenCount = 0 }: DocumentNode, text: string): number => 1024 + 450 * tokenCount + 50 * text.length

/** Maximum nesting of brackets of any kind. A query of the maximum depth with an input object needs half of that. */
const maxNesting = 64

/** Maximum length of a chain of fragments, and maximum number of spreads of a definition, including those of its fragments. */
const maxFragments = { chain: 16, spreads: 1000 }

/** Throws InvalidInput if brackets are nested too deeply. Scans tokens without recursion; leaves syntax errors to the parser. */
export function rejectDeepQuery(query: string): void {
  if (deepestNesting(query) > maxNesting) throw invalidInput(`query: is nested deeper than ${maxNesting} brackets.`, 'query')
}

/** Rejects queries that would overload the parser or the validation rules. */
export const limitQueries: Plugin = {
  onParse({ parseFn, setParseFn }) {
    setParseFn((...query) => rejectStackOverflow(() => parseFn(...query) as DocumentNode))
  },
  onValidate({ params, validateFn, setValidationFn }) {
    rejectComplexFragments(params.documentAST as DocumentNode)
    setValidationFn((...query) => rejectStackOverflow(() => validateFn(...query) as readonly GraphQLError[]))
  },
}

/** Runs a function whose recursion depth depends on its input. Throws InvalidInput on a stack overflow. */
export function rejectStackOverflow<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof RangeError ? invalidInput('query: is too complex.', 'query') : error
  }
}

/** Throws InvalidInput if fragments are cyclic, chained too long or spread too often. Validation rules follow every spread. */
export function rejectComplexFragments({ definitions }: DocumentNode): void {
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
