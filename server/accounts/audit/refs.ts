import { builder } from '../../platform/graphql/builder.ts'
import type { AuditEntry } from './entity.ts'

/** The GraphQL type of audit entries. Its fields are defined separately, because features add their own. */
export const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry')
