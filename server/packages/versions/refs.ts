import { builder } from '../../graphql/builder.ts'
import type { Document } from './documents.ts'

/** The type of a package's texts, known before it is described. */
export const DocumentRef = builder.objectRef<Document>('PackageDocument')
