import { builder } from '../graphql/builder.ts'
import type { AuditEntry } from './entity.ts'

/** The type of audit entries, apart from its description, since features show their own. */
export const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry')
