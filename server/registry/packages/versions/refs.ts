import { builder } from '../../../platform/graphql/builder.ts'
import type { Document } from './documents.ts'

/** GraphQL reference for documents. Declared before the type is implemented, because other types refer to it. */
export const DocumentRef = builder.objectRef<Document>('PackageDocument')
