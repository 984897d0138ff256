import type { TypedDocumentNode } from '@urql/vue'

const loaded = new Map<string, TypedDocumentNode>()

/** Returns the document of an operation, if a loaded script contains it. */
export const findQuery = (name: string) => loaded.get(name)

/**
 * Builds a document for a persisted operation. The document contains only the kind, the name and `documentId`, the SHA-256 of the operation's
 * text. The server looks up the text by this hash.
 */
export function operation<Result, Variables>(
  kind: 'query' | 'mutation' | 'subscription',
  name: string,
  documentId: string,
): TypedDocumentNode<Result, Variables> {
  const selectionSet = { kind: 'SelectionSet', selections: [] }
  const definition = { kind: 'OperationDefinition', operation: kind, name: { kind: 'Name', value: name }, selectionSet }
  const document = { kind: 'Document', definitions: [definition], documentId } as unknown as TypedDocumentNode<Result, Variables>
  loaded.set(name, document as TypedDocumentNode)
  return document
}
