import type { TypedDocumentNode } from '@urql/vue'

/**
 * An operation as the scripts know it: its kind and name, and the SHA-256 of its text, which the server has. `Result` and `Variables` are what
 * it gives and takes.
 */
export function operation<Result, Variables>(
  kind: 'query' | 'mutation' | 'subscription',
  name: string,
  documentId: string,
): TypedDocumentNode<Result, Variables> {
  const selectionSet = { kind: 'SelectionSet', selections: [] }
  const definition = { kind: 'OperationDefinition', operation: kind, name: { kind: 'Name', value: name }, selectionSet }
  return { kind: 'Document', definitions: [definition], documentId } as unknown as TypedDocumentNode<Result, Variables>
}
