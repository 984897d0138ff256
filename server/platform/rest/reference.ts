import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compressText } from '../http/caching/compression.ts'
import { basePath, publicUrl } from '../http/public-url.ts'
import type { Services } from '../../services.ts'
import { describeRoutes, type RouteGroup } from './openapi.ts'
import { rejectOtherMethods } from '../http/methods.ts'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Folder of the viewer in the console build, including compressed copies. */
const built = join(import.meta.dirname, '../../../web/dist/reference')

const files = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']

/** Serves the REST reference at `/api/docs`: a self-hosted viewer, the OpenAPI document, and the GraphQL schema. */
export async function mountReference(
  app: FastifyInstance,
  { config }: Services,
  schema: GraphQLSchema,
  groups: readonly RouteGroup[],
): Promise<void> {
  const texts = new Map<string, string>()
  let printed: string | undefined
  app.get('/api/docs/openapi.json', { onSend: compressText }, async (request, reply) => {
    const here = publicUrl(request, config.SERVER_URL)
    const text = texts.get(here) ?? JSON.stringify(describeRoutes(schema, groups, here))
    texts.set(here, text)
    return reply.type('application/json; charset=utf-8').send(text)
  })
  app.get('/api/docs', { onSend: compressText }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .send(page(basePath(config.SERVER_URL))),
  )
  app.get('/api/docs/schema.graphql', { onSend: compressText }, async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send((printed ??= `${printSchema(lexicographicSortSchema(schema))}\n`)),
  )
  app.get('/api/docs/start.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(start))
  for (const path of ['', '/openapi.json', '/schema.graphql', '/start.js', ...files.map((file) => `/assets/${file}`)])
    rejectOtherMethods(app, `/api/docs${path}`, ['GET'])
  await app.register(fastifyStatic, {
    root: existsSync(built) ? built : dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json'))),
    prefix: '/api/docs/assets/',
    decorateReply: false,
    index: false,
    preCompressed: true,
    allowedPath: (path) => files.includes(path.slice(1)),
  })
}

const page = (base: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>REST reference · Snug</title>
<link rel="stylesheet" href="${base}/api/docs/assets/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="${base}/api/docs/assets/swagger-ui-bundle.js"></script>
<script src="${base}/api/docs/start.js"></script>
</body>
</html>
`

/** Starts the viewer, in the color scheme that was chosen in the console or else in that of the system (as `web/theme.js` does). */
const start = `let chosen = null
try {
  chosen = localStorage.getItem('vueuse-color-scheme')
} catch {}
const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.classList.toggle('dark-mode', isDark)
document.documentElement.style.colorScheme = isDark ? 'dark' : 'light'
SwaggerUIBundle({ url: new URL('openapi.json', document.currentScript.src).href, dom_id: '#reference', deepLinking: true, persistAuthorization: false })
`
