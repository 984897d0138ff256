import { type Data, route } from '../rest/route.ts'

const check = '{ status latencyMs message }'
const component = (value: unknown) => {
  const { status, latencyMs, message } = value as { status: string; latencyMs: number; message: string | null }
  return { status: status.toLowerCase(), latencyMs, ...(message !== null && { message }) }
}

export const healthRoutes = [
  route(
    'GET /api/v1/health',
    `{ health { status metadata_store: metadataStore ${check} blob_store: blobStore ${check} search_index: searchIndex ${check} version timestamp } }`,
    {
      summary: 'Whether the server works: 200, or 503 when a component fails.',
      beforeSetup: true,
      anyCredential: true,
      answer: {
        from: ({ health }, { reply }) => {
          const { status, version, timestamp, ...checks } = health as Data & { status: string }
          if (status === 'DEGRADED') reply.code(503)
          return {
            status: status.toLowerCase(),
            checks: Object.fromEntries(Object.entries(checks).map(([name, value]) => [name, component(value)])),
            version,
            timestamp,
          }
        },
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
