/**
 * Replaces `@0no-co/graphql.web` in urql (see vite.config.ts). The console needs neither its parser nor its printer: it sends operations by their
 * hash (see operation.ts).
 */
export const Kind = {
  NAME: 'Name',
  DOCUMENT: 'Document',
  OPERATION_DEFINITION: 'OperationDefinition',
  FIELD: 'Field',
  FRAGMENT_DEFINITION: 'FragmentDefinition',
}

export const print = () => ''

export function parse() {
  throw new Error('Operations have no text.')
}

/** An error in a response of the server. */
export class GraphQLError extends Error {
  readonly path
  readonly extensions

  constructor(
    message: string,
    _nodes?: unknown,
    _source?: unknown,
    _positions?: unknown,
    path?: readonly (string | number)[],
    _original?: unknown,
    extensions: Record<string, unknown> = {},
  ) {
    super(message)
    this.path = path
    this.extensions = extensions
  }
}
