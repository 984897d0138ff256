import { builder } from '../../platform/graphql/builder.ts'
import { type AuditEntry, deletedUser } from './entity.ts'
import { z } from 'zod'

/** The GraphQL type of audit entries. Its fields are defined separately, because features add their own. */
export const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry')

/** REST schema of a user in an audit entry, as returned by `agent`. */
export const agentSchema = z
  .object({ userId: z.uuid(), displayName: z.string(), email: z.string().nullable() })
  .nullable()
  .describe('Null when no one is known. The e-mail address of a deleted user is null.')

/** REST schema of the cursor for the next page of audit entries. */
export const nextBefore = z.uuid().nullable().describe('Value of `before` for the next page; null on the last one.')

/** Returns the user of an audit entry for REST; null for anonymous actors. */
export const agent = (id: string | null, person: z.infer<typeof agentSchema>) =>
  id === null ? null : (person ?? { userId: id, displayName: deletedUser, email: null })
