import { z } from 'zod'
import { type Data, route } from '../../platform/rest/route.ts'

const usage = '{ bytes available }'

const relation = z.object({ name: z.string(), kind: z.enum(['index', 'table']), sizeBytes: z.int(), rows: z.int().nullable() })

const databaseReport = z.union([
  z.object({
    available: z.literal(true),
    engine: z.string(),
    version: z.string(),
    sizeBytes: z.int(),
    reclaimableBytes: z.int().nullable().describe('Bytes that a vacuum would free.'),
    tables: z.array(relation).nullable().describe('The largest tables and indexes; null when measuring took too long.'),
    measuredAt: z.iso.datetime().nullable(),
  }),
  z.object({ available: z.literal(false) }),
])

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
      summary: 'Server statistics. `database` is `{"available": false}` if the database does not report them.',
      answer: 'serverStatistics',
      changes: {
        'serverStatistics.database': {
          from: (report) => (report ? { available: true, ...(report as Data) } : { available: false }),
          schema: databaseReport,
        },
      },
    },
  ),
]
