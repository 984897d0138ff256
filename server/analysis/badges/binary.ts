import { createHash } from 'node:crypto'
import type { Context } from '../../platform/access/context.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { packageParameter, unknownPackage } from '../../registry/packages/parameters.ts'
import { binary } from '../../platform/rest/route.ts'
import { type Audience, audienceOf, cacheControlOf } from '../../platform/access/audience.ts'
import { type Badge, downloadsBadge, renderBadge, scoreBadge, versionBadge } from './service.ts'

const badge = {
  access: 'browse',
  basic: true,
  produces: { 200: { description: 'The badge.', type: 'image/svg+xml' }, 304: { description: 'Not modified since the given ETag.' } },
} as const

/** Routes for SVG badges, for READMEs and wikis. */
export const badgeBinaries = [
  binary('GET /packages/:pkg/badges/version.svg', {
    ...badge,
    summary: 'Badge with the latest version of a package.',
    handler: (context) => send(context, versionBadge),
  }),
  binary('GET /packages/:pkg/badges/score.svg', {
    ...badge,
    summary: 'Badge with the score of a package.',
    handler: (context) => send(context, scoreBadge),
  }),
  binary('GET /packages/:pkg/badges/downloads.svg', {
    ...badge,
    access: 'read',
    summary: 'Badge with the downloads of a package in the last 30 days. Requires signing in.',
    handler: (context) => send(context, downloadsBadge),
  }),
]

async function send(
  context: Context,
  badgeOf: (context: Context, audience: Audience, name: string) => Promise<Badge | null>,
): Promise<unknown> {
  const { request, reply } = context
  const name = packageParameter(request)
  const found = await badgeOf(context, audienceOf(context), name)
  if (!found) throw unknownPackage(name)
  const svg = renderBadge(found)
  const etag = `"${createHash('sha256').update(svg).digest('base64url').slice(0, 22)}"`
  reply.header('etag', etag).header('vary', 'authorization, cookie')
  reply.header('cache-control', cacheControlOf(context, 'private, max-age=300'))
  // Allow other sites to embed public badges.
  if (!context.viewer) reply.header('cross-origin-resource-policy', 'cross-origin')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  return reply.type('image/svg+xml; charset=utf-8').send(svg)
}
