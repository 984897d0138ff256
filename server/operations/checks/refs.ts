import { builder } from '../../platform/graphql/builder.ts'

/** GraphQL reference for this server. Declared apart from its fields, because other features add fields to it. */
export const ServerRef = builder.objectRef<object>('Server')
