import { createHash } from 'node:crypto'
import { expressionBuilder, sql } from 'kysely'
import { type Audience, audienceOf, cacheControlOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { requireScope } from '../../platform/access/guards.ts'
import { columnsOf, db, type Tables } from '../../platform/db/query.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { xmlText } from '../../platform/console/site-files.ts'
import { binary } from '../../platform/rest/route.ts'
import type { Services } from '../../services.ts'
import { hostedHere } from '../packages/hosting.ts'
import { packageParameter, unknownPackage } from '../packages/parameters.ts'
import { isListed, isPartlyPublic, isVersionPublic } from '../packages/conditions.ts'
import { newestVersions as newestOf, type OfPackages } from '../packages/versions/releases.ts'
import { findPublisher } from '../publishers/list.ts'
import { unknownPublisher } from '../publishers/service.ts'
import { watchedBy } from '../watching/service.ts'

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
  binary('GET /api/packages/:pkg/feed.atom', {
    ...feed,
    summary: 'The same feed, at the URL of pub.dev.',
    handler: sendPackageFeed,
  }),
  binary('GET /publishers/:id/feed.atom', {
    ...feed,
    access: 'read',
    summary: 'Atom feed of the newest versions of a publisher.',
    handler: sendPublisherFeed,
  }),
  binary('GET /me/feed.atom', {
    ...feed,
    access: 'read',
    summary: 'Atom feed of the newest versions of the packages that you watch.',
    handler: sendWatchedFeed,
  }),
]

async function sendServerFeed(context: Context): Promise<unknown> {
  const entries = await newestEntries(context, audienceOf(context))
  return send(context, '/packages?sort=updated', '/feed.atom', `New on ${hostOf(context)}`, entries)
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

async function sendWatchedFeed(context: Context): Promise<unknown> {
  const entries = await newestWatched(context, requireScope(context, 'read').viewer.id)
  return send(context, '/me/watching', '/me/feed.atom', `Watched on ${hostOf(context)}`, entries)
}

function send(context: Context, page: string, self: string, title: string, entries: Feed['entries']): unknown {
  const { request, reply, config } = context
  const { SERVER_URL: root } = config
  const xml = renderAtom({ self: root + self, page: root + page, title, author: hostOf(context), entries })
  const etag = `W/"${createHash('sha256').update(xml).digest('base64url').slice(0, 22)}"`
  reply.header('etag', etag).header('cache-control', cacheControlOf(context, 'private, no-cache')).header('vary', 'authorization, cookie')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  return reply.type(`${type}; charset=utf-8`).send(xml)
}

const hostOf = ({ config }: Context): string => new URL(config.SERVER_URL).host

type Reader = Pick<Services, 'database' | 'config'>

export const maxEntries = 50

/** Returns the newest versions of all listed packages, newest first, without retracted ones. */
export const newestEntries = (reader: Reader, audience: Audience): Promise<Entry[]> =>
  read(reader, audience, (p) => isListed(p('is_unlisted')))

/** Returns the newest versions of a publisher's listed packages, newest first, without retracted ones. */
export const newestOfPublisher = (reader: Reader, id: string): Promise<Entry[]> =>
  readNewest(reader, (p) => eb.and([eb(p('publisher_id'), '=', id), isListed(p('is_unlisted'))]))

/** Returns the newest versions of the packages that a user watches, newest first, without retracted ones. */
export const newestWatched = (reader: Reader, userId: string): Promise<Entry[]> => readNewest(reader, watchedBy(userId))

const eb = expressionBuilder<Tables>()

async function readNewest(reader: Reader, isOf: OfPackages): Promise<Entry[]> {
  return entriesOf(reader, await reader.database.reads.all(newestOf(isOf, maxEntries).select(columns)))
}

const columns = ['p.name', 'v.version', 'v.created_at', 'v.pubspec'] as const

/**
 * Returns the newest versions of one package, listed or not; null if the package does not exist for this audience. For the public audience, private
 * and nonexistent packages run the same statements, so that timing does not reveal private ones.
 */
export async function newestOfPackage(reader: Reader, audience: Audience, name: string): Promise<Entry[] | null> {
  const entries = await read(reader, audience, (p) => eb(p('name'), '=', name))
  if (entries.length > 0) return entries
  const named = db.selectFrom('packages as p').select('p.id').where('p.name', '=', name)
  const hosted = hostedHere(reader.config)
  const isThere = await reader.database.reads.recall(
    audience === 'members' ? named : named.where((p) => isPartlyPublic({ id: p.ref('p.id'), visibility: p.ref('p.visibility') }, hosted)),
  )
  return isThere ? entries : null
}

/** Reads the newest matching versions. Ids increase over time and are indexed, so ordering by id is ordering by age. */
async function read(reader: Reader, audience: Audience, isOf: OfPackages): Promise<Entry[]> {
  const { database, config } = reader
  const all = db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .select(columns)
    .where('v.retracted_at', 'is', null)
    .where(isOf(columnsOf('packages', 'p')))
    .orderBy('v.id', 'desc')
    .limit(sql.lit(maxEntries))
  const readable = all.where((one) => isVersionPublic(one.ref('p.visibility'), one.ref('v.id'), hostedHere(config)))
  return entriesOf(reader, await database.reads.all(audience === 'members' ? all : readable))
}

type Row = { name: string; version: string; created_at: Date; pubspec: string }

const entriesOf = ({ config }: Reader, rows: Row[]): Entry[] =>
  rows.map((row) => ({
    page: `${config.SERVER_URL}/packages/${row.name}/versions/${row.version}`,
    title: `${row.name} ${row.version}`,
    at: row.created_at,
    summary: descriptionOf(row.pubspec),
  }))

function descriptionOf(pubspec: string): string {
  const { description } = JSON.parse(pubspec) as { description?: unknown }
  return typeof description === 'string' ? description.trim().slice(0, 1000) : ''
}

// Written by hand deliberately: the feed has two kinds of elements. Feed libraries add RSS and JSON output and do not remove characters that XML
// cannot represent.

/** An Atom feed (RFC 4287). All URLs are absolute. */
export type Feed = {
  /** URL of the feed, also used as its id. */
  self: string
  title: string
  /** URL of the page that the feed describes. */
  page: string
  author: string
  entries: Entry[]
}

export type Entry = { page: string; title: string; at: Date; summary: string }

/** Renders a feed as XML. An empty feed has the epoch as its update time. */
export function renderAtom({ self, title, page, author, entries }: Feed): string {
  const updated = new Date(Math.max(0, ...entries.map(({ at }) => at.getTime())))
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `  <id>${xmlText(self)}</id>`,
    `  <title>${xmlText(title)}</title>`,
    `  <updated>${updated.toISOString()}</updated>`,
    `  <author><name>${xmlText(author)}</name></author>`,
    `  <generator>Snug</generator>`,
    `  <link rel="self" type="application/atom+xml" href="${xmlText(self)}"/>`,
    `  <link rel="alternate" type="text/html" href="${xmlText(page)}"/>`,
    ...entries.map(renderEntry),
    '</feed>\n',
  ].join('\n')
}

function renderEntry({ page, title, at, summary }: Entry): string {
  return [
    '  <entry>',
    `    <id>${xmlText(page)}</id>`,
    `    <title>${xmlText(title)}</title>`,
    `    <published>${at.toISOString()}</published>`,
    `    <updated>${at.toISOString()}</updated>`,
    `    <link rel="alternate" type="text/html" href="${xmlText(page)}"/>`,
    `    <summary>${xmlText(summary)}</summary>`,
    '  </entry>',
  ].join('\n')
}
