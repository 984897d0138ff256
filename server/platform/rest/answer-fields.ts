import {
  type DocumentNode,
  type FieldNode,
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from 'graphql'
import type { Data, FieldChange, Route } from './route.ts'

/** A selected field of an operation. REST directives: `@flatten` replaces an object by its fields, `@omitNull` omits null. */
export type AnswerField = {
  /** Alias, or else the name. */
  key: string
  field: GraphQLField<unknown, unknown>
  isFlattened: boolean
  isOmittable: boolean
  /** Whether the field is a connection that REST returns as the list of all its nodes (see `allNodes`). */
  returnsAllNodes: boolean
  change: FieldChange | undefined
  fields: AnswerField[]
}

const directives = ['flatten', 'omitNull']

/** Removes the REST directives from a document before execution. */
export const withoutDirectives = (document: DocumentNode): DocumentNode =>
  visit(document, { Directive: ({ name }) => (directives.includes(name.value) ? null : undefined) })

export function answerFields(schema: GraphQLSchema, { operation, selectionSet }: OperationDefinitionNode, route: Route): AnswerField[] {
  return fieldsOf(schema.getRootType(operation) as GraphQLObjectType, selectionSet, route)
}

/** Returns the fields of a selection set. `path` is its location in the data of the route. */
export function fieldsOf(
  type: GraphQLObjectType,
  { selections }: SelectionSetNode,
  route: Pick<Route, 'allNodes' | 'changes'> = {},
  path = '',
): AnswerField[] {
  return selections.flatMap((node) => {
    if (node.kind !== Kind.FIELD) return []
    const field = type.getFields()[node.name.value]
    if (!field) return []
    const key = node.alias?.value ?? node.name.value
    const below = getNamedType(field.type)
    const here = `${path}${key}`
    return {
      key,
      field,
      isFlattened: has(node, 'flatten'),
      isOmittable: has(node, 'omitNull'),
      returnsAllNodes: here === route.allNodes,
      change: route.changes?.[here],
      fields: isObjectType(below) && node.selectionSet ? fieldsOf(below, node.selectionSet, route, `${here}.`) : [],
    }
  })
}

const has = ({ directives }: FieldNode, name: string) => directives?.some((directive) => directive.name.value === name) ?? false

type Write = (value: unknown) => unknown

/** Returns a function that converts data to its REST form (lower-case enums, directives, conversions); null if nothing changes. */
export function dataWriter(fields: readonly AnswerField[]): ((data: Data) => Data) | null {
  const steps = fields.map((one) => ({ ...one, write: changed(writerOf(one.field.type, one), one.change) }))
  if (!steps.some((step) => step.write || step.isFlattened || step.isOmittable || step.returnsAllNodes)) return null
  return (data) => {
    const written: Data = {}
    for (const { key, write, isFlattened, isOmittable, returnsAllNodes, fields: inner } of steps) {
      const value = write ? write(data[key]) : data[key]
      if (isFlattened) Object.assign(written, value ?? allNull(inner))
      else if (returnsAllNodes) written[key] = (value as { nodes: unknown[] }).nodes
      else if (!isOmittable || value !== null) written[key] = value
    }
    return written
  }
}

const changed = (write: Write | null, change: FieldChange | undefined): Write | null =>
  change ? (value) => change.from(write ? write(value) : value) : write

const allNull = (fields: readonly AnswerField[]): Data =>
  Object.fromEntries(
    fields.flatMap(({ key, isOmittable, isFlattened, fields: inner }) =>
      isFlattened ? Object.entries(allNull(inner)) : isOmittable ? [] : [[key, null]],
    ),
  )

function writerOf(type: GraphQLOutputType, field: AnswerField): Write | null {
  const bare = getNullableType(type)
  const write = isListType(bare) ? listWriter(writerOf(bare.ofType, field)) : isEnumType(bare) ? lowerCase : objectWriter(field)
  return write && ((value) => (value === null ? null : write(value)))
}

const listWriter = (write: Write | null): Write | null => write && ((values) => (values as unknown[]).map(write))

const lowerCase: Write = (word) => (word as string).toLowerCase()

function objectWriter({ fields }: AnswerField): Write | null {
  const write = dataWriter(fields)
  return write && ((value) => write(value as Data))
}
