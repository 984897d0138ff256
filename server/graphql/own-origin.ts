import { type DocumentNode, type GraphQLSchema, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql'

/**
 * Whether an operation that rides on a session must bring the session's CSRF token. Every mutation must, but one that names none but root
 * fields marked `ownOrigin`: those refuse other sites' pages by themselves, and nobody needs a token to sign in anew.
 */
export function needsCsrfToken(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): boolean {
  if (operation.operation !== 'mutation') return false
  const fields = schema.getMutationType()?.getFields() ?? {}
  return !rootFields(document, operation.selectionSet).every((name) => name === '__typename' || fields[name]?.extensions.ownOrigin)
}

/**
 * The names of the fields, also of those in fragments; what `@skip` leaves out counts too. Each fragment is entered once: fragments that name
 * each other twice would otherwise double the work with every one of them.
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
