import { z } from 'zod'
import { csv, exportedAs, ndjson } from '../../platform/rest/export.ts'
import { type Data, route } from '../../platform/rest/route.ts'
import { auditLog } from './export-rest.ts'
import { agent, agentSchema, nextBefore } from './refs.ts'

const person = '{ userId: uuid displayName email }'
const variables =
  '$kind: String, $actor: UserReference, $user: UserReference, $package: String, $publisher: String, $peopleOnly: Boolean, $from: DateTime, $to: DateTime, $before: ID'
const filter =
  'kind: $kind, actedBy: $actor, affectedUser: $user, package: $package, publisher: $publisher, peopleOnly: $peopleOnly, from: $from, to: $to, olderThan: $before'

type Person = Parameters<typeof agent>[1]
type Entry = Data & { id: string; actorId: string | null; actor: Person; userId: string | null; user: Person }
type Connection = { nodes: Entry[]; pageInfo: { hasNextPage: boolean } }

const auditPage = z.object({
  entries: z.array(
    z.object({
      id: z.uuid(),
      createdAt: z.iso.datetime(),
      kind: z.string(),
      summary: z.string(),
      version: z.string().nullable(),
      package: z.string().nullable(),
      publisher: z.string().nullable(),
      agent: agentSchema,
      user: agentSchema,
      clientIp: z.string().nullable(),
    }),
  ),
  nextBefore,
})

export const auditRoutes = [
  route(
    'GET /api/admin/audit-log',
    `query (${variables}) { auditEntries(first: 50, ${filter}) { nodes { id: uuid createdAt kind summary version package publisher actorId actor ${person} userId user ${person} clientIp } pageInfo { hasNextPage } } }`,
    {
      summary:
        'The audit log, newest first, 50 entries per page. With `Accept: text/csv` or `application/x-ndjson`, all entries as a file.',
      names: { before: 'olderThan', actor: 'actedBy', user: 'affectedUser' },
      answer: { from: ({ auditEntries }) => answer(auditEntries as Connection), schema: auditPage },
      alternatives: [exportedAs(csv, auditLog), exportedAs(ndjson, auditLog)],
    },
  ),
]

function answer({ nodes, pageInfo }: Connection) {
  const entries = nodes.map(({ actorId, actor, userId, user, clientIp, ...entry }) => ({
    ...entry,
    agent: agent(actorId, actor),
    user: agent(userId, user),
    clientIp,
  }))
  return { entries, nextBefore: pageInfo.hasNextPage ? (nodes.at(-1)?.id ?? null) : null }
}
