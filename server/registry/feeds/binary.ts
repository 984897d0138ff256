import { createHash } from 'node:crypto'
import type { Context } from '../../platform/access/context.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { packageParameter, unknownPackage } from '../packages/parameters.ts'
import { unknownPublisher } from '../publishers/change-publisher.ts'
import { findPublisher } from '../publishers/list.ts'
import { binary } from '../../platform/rest/route.ts'
import { audienceOf, cacheControlOf } from '../../platform/access/audience.ts'
import { type Feed, renderAtom } from './atom.ts'
import { newestOfPackage, newestOfPublisher, newestVersions } from './service.ts'

const type = 'application/atom+xml'
const feed = {
  access: 'browse',
  basic: true,
  produces: { 200: { description: 'The feed, newest first.', type }, 304: { description: 'Not modified since the given ETag.' } },
} as const

/** Routes for Atom feeds (RFC 4287). */
export const feedBinaries = [
  binary('GET /feed.atom', { ...feed, summary: 'Atom feed of the newest versions on this server.', handler: sendServerFeed }),
  binary('GET /packages/:pkg/feed.atom', {
    ...feed,
    summary: 'Atom feed of the newest versions of a package.',
    handler: sendPackageFeed,
  }),
  binary('GET /publishers/:id/feed.atom', {
    ...feed,
    access: 'read',
    summary: 'Atom feed of the newest versions of a publisher.',
    handler: sendPublisherFeed,
  }),
]

async function sendServerFeed(context: Context): Promise<unknown> {
  return send(
    context,
    '/packages?sort=updated',
    '/feed.atom',
    `New on ${hostOf(context)}`,
    await newestVersions(context, audienceOf(context)),
  )
}

async function sendPackageFeed(context: Context): Promise<unknown> {
  const name = packageParameter(context.request)
  const entries = await newestOfPackage(context, audienceOf(context), name)
  if (!entries) throw unknownPackage(name)
  return send(context, `/packages/${name}`, `/packages/${name}/feed.atom`, `Versions of ${name}`, entries)
}

async function sendPublisherFeed(context: Context): Promise<unknown> {
  const { id } = context.request.params as { id: string }
  const publisher = /^[a-z0-9.-]{2,64}$/.test(id) ? await findPublisher(context.em, id) : null
  if (!publisher) throw unknownPublisher(id)
  const entries = await newestOfPublisher(context, id)
  return send(context, `/publishers/${id}`, `/publishers/${id}/feed.atom`, `New from ${publisher.displayName}`, entries)
}

function send(context: Context, page: string, self: string, title: string, entries: Feed['entries']): unknown {
  const { request, reply, config } = context
  const [address, author] = [(path: string) => config.SERVER_URL + path, hostOf(context)]
  const xml = renderAtom({ self: address(self), page: address(page), title, author, entries })
  const etag = `W/"${createHash('sha256').update(xml).digest('base64url').slice(0, 22)}"`
  reply.header('etag', etag).header('cache-control', cacheControlOf(context, 'private, no-cache')).header('vary', 'authorization, cookie')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  return reply.type(`${type}; charset=utf-8`).send(xml)
}

const hostOf = ({ config }: Context): string => new URL(config.SERVER_URL).host
