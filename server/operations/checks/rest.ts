import { z } from 'zod'
import { type Data, route } from '../../platform/rest/route.ts'

const check = '{ status latencyMs message @omitNull }'
const component = z.object({ status: z.enum(['ok', 'error', 'initializing']), latencyMs: z.number(), message: z.string().optional() })
const report = z.object({
  status: z.enum(['ok', 'degraded']),
  checks: z.object({ metadata_store: component, blob_store: component, search_index: component }),
  version: z.string(),
  timestamp: z.iso.datetime(),
})

export const healthRoutes = [
  route(
    'GET /api/v1/health',
    `{ health { status metadata_store: metadataStore ${check} blob_store: blobStore ${check} search_index: searchIndex ${check} version timestamp } }`,
    {
      summary: 'Health of the server: 200, or 503 if a component fails.',
      beforeSetup: true,
      anyCredential: true,
      answer: {
        from: ({ health }, { reply }) => {
          const { status, version, timestamp, ...checks } = health as Data
          if (status === 'degraded') reply.code(503)
          return { status, checks, version, timestamp }
        },
        schema: report,
        statuses: { 503: 'A component fails.' },
      },
    },
  ),
  route('GET /api/v1/version', '{ server { version } }', {
    anyCredential: true,
    summary: 'The version of the server.',
    answer: 'server',
    beforeSetup: true,
  }),
]
