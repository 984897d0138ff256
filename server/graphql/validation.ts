import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  type Source,
  specifiedRules,
  validate,
  validateInputLiteral,
  type ValidationContext,
  type ValidationRule,
  type ValueNode,
  ValuesOfCorrectTypeRule,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Services } from '../services.ts'
import { refusedValue } from './operation-errors.ts'

/** Values that are written out in a query are refused as variables are: with the name of the argument, and of the place in it. */
export const nameLiterals: Plugin = {
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

/** What `ValuesOfCorrectTypeRule` checks, where values can be: in the arguments of fields and directives, and as defaults of variables. */
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
  // The members of `input` are the fields; what is wrong with all of it has no other name.
  const isMember = name === 'input' && (place !== '' || / field "/.test(error.message))
  const { message, status, extensions } = refusedValue(isMember ? '' : name, place, error.message)
  // Yoga answers what validation refuses with 200, unless it is told that `spec` is not meant.
  return new GraphQLError(message, { nodes: error.nodes ?? value, extensions: { ...extensions, http: { status, spec: false } } })
}

declare module '../http/caching/caches.ts' {
  interface CachedValues {
    /** Parsed documents that are valid, by their text. */
    graphql: DocumentNode
  }
}

/** Parses and validates each document once, as long as it is in the cache. What is refused is not kept. */
export function rememberDocuments({ graphql: documents }: Services['caches']): Plugin {
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

/** Returns how much memory a parsed document takes at most: its nodes have positions, and all tokens stay, comments included. */
export const documentBytes = ({ tokenCount = 0 }: DocumentNode, text: string): number => 1024 + 450 * tokenCount + 50 * text.length
