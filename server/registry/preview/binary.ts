import { serviceUnavailable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { binary } from '../../platform/rest/route.ts'
import { readIdentity } from '../../platform/settings/identity.ts'
import pLimit, { type LimitFunction } from 'p-limit'
import { packageParameter, unknownPackage } from '../packages/parameters.ts'
import { summarizePage } from '../packages/page-summary.ts'
import { drawPreview } from './draw.ts'

/** The preview images of public packages, which chats and social networks show next to links. */
export const previewBinaries = [
  binary('GET /packages/:pkg/preview.png', {
    access: 'browse',
    summary: 'Preview image of a public package for links, 1200×630 pixels.',
    handler: sendPreview,
    produces: { 200: { description: 'The image.', type: 'image/png' }, 304: { description: 'The cached image is current.' } },
    errorStatuses: [404],
  }),
]

declare module '../../services.ts' {
  interface State {
    previewTurns?: LimitFunction
  }
}

const maxWaiting = 100

async function sendPreview(context: Context): Promise<unknown> {
  const { request, reply, database, caches, state } = context
  const name = packageParameter(request)
  const summary = await summarizePage(context, `/packages/${name}`)
  if (!summary) throw unknownPackage(name)
  const { name: registry } = await readIdentity(database.reads)
  const texts = { registry, name, version: summary.version ?? '', description: summary.description }
  const key = sha256(JSON.stringify(['preview', texts]))
  const etag = `"${key.slice(0, 32)}"`
  reply.header('etag', etag).header('cache-control', 'no-cache')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  const inTurn = (state.previewTurns ??= pLimit(1))
  if (inTurn.pendingCount > maxWaiting) throw serviceUnavailable('Too many preview images are being drawn. Try again in a moment.', 5)
  const known = caches.pictures.get(key) ?? (await inTurn(async () => caches.pictures.get(key) ?? drawPreview(texts)))
  caches.pictures.set(key, known)
  return reply.type('image/png').header('content-length', known.length).send(known)
}
