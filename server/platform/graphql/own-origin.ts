import { type DocumentNode, type GraphQLSchema, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql'

/**
 * Whether an operation requires the CSRF token if authenticated by a session. Mutations do, unless all their root fields are marked `ownOrigin`:
 * those fields reject requests from other sites themselves, so that signing in again works without a token.
 */
export function needsCsrfToken(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): boolean {
  if (operation.operation !== 'mutation') return false
  const fields = schema.getMutationType()?.getFields() ?? {}
  return !rootFields(document, operation.selectionSet).every((name) => name === '__typename' || fields[name]?.extensions.ownOrigin)
}

/**
 * Returns the names of all root fields, including those in fragments and those excluded by `@skip`. Each fragment is visited once: otherwise,
 * fragments that refer to each other twice would double the work at each level.
 */
function rootFields(document: DocumentNode, { selections }: SelectionSetNode, entered = new Set<string>()): string[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return selection.name.value
    if (selection.kind === Kind.INLINE_FRAGMENT) return rootFields(document, selection.selectionSet, entered)
    const { value: name } = selection.name
    if (entered.has(name)) return []
    entered.add(name)
    const fragment = document.definitions.find((node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name)
    return fragment?.kind === Kind.FRAGMENT_DEFINITION ? rootFields(document, fragment.selectionSet, entered) : name
  })
}
