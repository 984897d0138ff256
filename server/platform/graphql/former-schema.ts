import {
  type DocumentNode,
  type FieldNode,
  getNullableType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { invalidInput } from '../../errors.ts'
import type { Context } from '../access/context.ts'

/** Date after which the names and results of release 0.5 are removed. Pages that were opened before an upgrade still use them. */
export const removalDate = '2027-04-01'

/** Returns the deprecation reason of something with this replacement. */
export const replacedBy = (name: string): string => `Use ${name}; removed after ${removalDate}.`

/** Options of an argument or input field that also has this deprecated name. */
export const formerly = (formerName: string) => ({ extensions: { formerName } })

type Input = GraphQLArgument | GraphQLInputField
type Marks = { formerName?: string; isRequired?: boolean }
type Values = Record<string, unknown>

/**
 * Adds deprecated copies of arguments and input fields that declare `extensions: { formerName }`. While the copy exists, both are nullable, and a
 * missing value is reported when the field is resolved.
 */
export function addFormerNames(built: GraphQLSchema): void {
  for (const type of Object.values(built.getTypeMap())) {
    if (isInputObjectType(type)) for (const copy of formerCopies(Object.values(type.getFields()))) type.getFields()[copy.name] = copy
    if (!isObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      field.args = [...field.args, ...formerCopies(field.args)]
      acceptFormerNames(field)
    }
  }
}

function formerCopies<Some extends Input>(inputs: readonly Some[]): Some[] {
  return inputs.flatMap((input) => {
    const { formerName, ...marks } = input.extensions as Marks
    if (formerName === undefined) return []
    const isRequired = isNonNullType(input.type)
    input.type = getNullableType(input.type)
    // The classes of graphql-js are not exported.
    const copy = Object.assign(Object.create(Object.getPrototypeOf(input) as object) as Some, input)
    Object.assign(input.extensions, { isRequired })
    if (isRequired) input.description = `${input.description} Required.`
    return [
      Object.assign(copy, { name: formerName, deprecationReason: replacedBy(input.name), extensions: { ...marks, isGraphqlOnly: true } }),
    ]
  })
}

/** Passes values of former names to the resolvers of a field under the current names. Throws InvalidInput for missing values. */
function acceptFormerNames(field: GraphQLField<unknown, Context>): void {
  const ofField = renamedAmong(field.args)
  const input = field.args.find(({ name }) => name === 'input')
  const type = input && getNullableType(input.type)
  const ofInput = isInputObjectType(type) ? renamedAmong(Object.values(type.getFields())) : []
  if (ofField.length + ofInput.length === 0) return
  const current = (args: Values): Values => {
    const values = withCurrentNames(args, ofField)
    return ofInput.length > 0 ? { ...values, input: withCurrentNames(values.input as Values, ofInput) } : values
  }
  const { resolve, subscribe } = field
  if (resolve) field.resolve = (parent, args, context, info) => resolve(parent, current(args as Values), context, info)
  if (subscribe) field.subscribe = (parent, args, context, info) => subscribe(parent, current(args as Values), context, info)
}

const renamedAmong = (inputs: readonly Input[]): Input[] =>
  inputs.filter(({ extensions }) => (extensions as Marks).formerName !== undefined)

function withCurrentNames(values: Values, inputs: readonly Input[]): Values {
  const renamed = { ...values }
  for (const { name, extensions } of inputs) {
    const { formerName = '', isRequired } = extensions as Marks
    const former = renamed[formerName]
    delete renamed[formerName]
    if (former != null && renamed[name] != null)
      throw invalidInput(`${formerName}: is the former name of ${name}. Send only ${name}.`, name)
    renamed[name] ??= former
    if (isRequired && renamed[name] == null) throw invalidInput(`${name}: is required.`, name)
    if (renamed[name] === undefined) delete renamed[name]
  }
  return renamed
}

/** Names of the selections that are added to fields that returned a scalar: for `true`, and for a value that is now a field of the result. */
const formerTrue = 'formerTrue'
const formerValue = 'formerValue'

/** Parsed documents, and whether selections were added to them. */
const known = new WeakMap<DocumentNode, boolean>()

/**
 * Accepts documents that select nothing of a field that returned a scalar in release 0.5, and answers them as before. Such fields declare
 * `extensions: { formerResult }`: true, or the field of the result that has the former value.
 */
export const acceptFormerDocuments = (schema: GraphQLSchema): Plugin => ({
  onParse:
    () =>
    ({ result, replaceParseResult }) => {
      if (result && !(result instanceof Error)) replaceParseResult(completeSelections(schema, result as DocumentNode))
    },
  onExecute: ({ args }) =>
    known.get((args as unknown as { document: DocumentNode }).document)
      ? {
          onExecuteDone({ result, setResult }) {
            if (!(Symbol.asyncIterator in result)) setResult({ ...result, data: asBefore(result.data) as typeof result.data })
          },
        }
      : undefined,
})

/** Returns the document with the selections that it lacks, or the document itself. */
export function completeSelections(schema: GraphQLSchema, document: DocumentNode): DocumentNode {
  if (known.has(document)) return document
  const types = new TypeInfo(schema)
  const whole = visit(
    document,
    visitWithTypeInfo(types, {
      Field(node): FieldNode | undefined {
        const { formerResult } = (types.getFieldDef()?.extensions ?? {}) as { formerResult?: true | string }
        return node.selectionSet || formerResult === undefined ? undefined : withSelection(node, formerResult)
      },
    }),
  )
  known.set(whole, whole !== document)
  return whole
}

function withSelection(node: FieldNode, formerResult: true | string): FieldNode {
  const [alias, name] = formerResult === true ? [formerTrue, '__typename'] : [formerValue, formerResult]
  const word = (value: string) => ({ kind: Kind.NAME, value }) as const
  return {
    ...node,
    selectionSet: { kind: Kind.SELECTION_SET, selections: [{ kind: Kind.FIELD, alias: word(alias), name: word(name) }] },
  }
}

function asBefore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asBefore)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (formerTrue in value) return true
  if (formerValue in value) return value.formerValue
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, asBefore(part)]))
}
