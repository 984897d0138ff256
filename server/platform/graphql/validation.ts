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
import type { Services } from '../../services.ts'
import { namesField, refusedValue } from './operation-errors.ts'

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
  const { message, status, extensions } = refusedValue(isMember ? '' : name, place, error.message)
  // Without `spec: false`, Yoga responds to validation errors with status 200.
  return new GraphQLError(message, { nodes: error.nodes ?? value, extensions: { ...extensions, http: { status, spec: false } } })
}

declare module '../caches/caches.ts' {
  interface CachedValues {
    /** Parsed and validated documents by their text. */
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
