import { type Data, route } from '../rest/route.ts'

const usage = '{ bytes available }'

export const statsRoutes = [
  route(
    'GET /api/admin/stats',
    `{ serverStatistics {
      uptime { startedAt uptimeSeconds }
      counts { packages versions users publishers downloads30d }
      disk { archives ${usage} docs ${usage} database ${usage} total ${usage} measuredAt }
      backends { database blobs docs search }
      database { engine version sizeBytes reclaimableBytes tables { name kind sizeBytes rows } measuredAt }
      jobs { queued running failed }
    } }`,
    {
      summary: 'How much there is on this server, and where. What the database does not report is `{"available": false}`.',
      answer: { from: ({ serverStatistics }) => withReport(serverStatistics as Statistics) },
    },
  ),
]

type Statistics = Data & { database: (Data & { tables: { kind: string }[] | null }) | null }

function withReport({ database, ...statistics }: Statistics): Data {
  if (!database) return { ...statistics, database: { available: false } }
  const tables = database.tables?.map((relation) => ({ ...relation, kind: relation.kind.toLowerCase() })) ?? null
  return { ...statistics, database: { available: true, ...database, tables } }
}
