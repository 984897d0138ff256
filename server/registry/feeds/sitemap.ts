import { isBrowsingOn } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { notFound } from '../../errors.ts'
import { binary } from '../../platform/rest/route.ts'

/** Number of packages per page. Search engines read at most 50,000. */
const pageSize = 5000

/** The sitemap of public packages. Source: sitemaps.org. Lists packages whose versions are all public, for all callers. */
export const sitemapBinaries = [
  binary('GET /sitemap.xml', {
    access: 'open',
    anyCredential: true,
    summary: 'Sitemap of the public packages, if public browsing is on: an index, or one of its pages.',
    handler: sendSitemap,
    query: { page: 'Number of the page, starting at 1. Without it, the index of all pages.' },
    produces: { 200: { description: 'The sitemap.', type: 'application/xml' } },
    errorStatuses: [404],
  }),
]

async function sendSitemap(context: Context): Promise<unknown> {
  const { request, reply } = context
  const { page } = request.query as { page?: unknown }
  if (!(await isBrowsingOn(context))) throw notFound('This server has no public packages.')
  const xml = page === undefined ? await indexOf(context) : await pageOf(context, page)
  return reply.type('application/xml; charset=utf-8').header('cache-control', 'no-cache').send(xml)
}

async function indexOf({ config, database }: Context): Promise<string> {
  const row = await database.reads.get(publicDocuments().select((eb) => eb.fn.countAll<number>().as('total')))
  const pages = Array.from({ length: Math.max(1, Math.ceil((row?.total ?? 0) / pageSize)) }, (_, index) => index + 1)
  return document(
    'sitemapindex',
    pages.map((page) => `<sitemap><loc>${config.SERVER_URL}/sitemap.xml?page=${page}</loc></sitemap>`),
  )
}

async function pageOf({ config, database }: Context, page: unknown): Promise<string> {
  if (typeof page !== 'string' || !/^[1-9]\d{0,4}$/.test(page)) throw notFound('The sitemap has no such page.')
  const offset = (Number(page) - 1) * pageSize
  const rows = await database.reads.all(publicDocuments().select(['name', 'published_at']).orderBy('name').limit(pageSize).offset(offset))
  // Names consist of letters, digits and underscores.
  const urls = rows.map(
    (row) =>
      `<url><loc>${config.SERVER_URL}/packages/${row.name}</loc><lastmod>${new Date(row.published_at).toISOString()}</lastmod></url>`,
  )
  return document('urlset', urls)
}

/** An index contains exactly the documents with this literal. */
const publicDocuments = () => db.selectFrom('package_search_documents').where((eb) => eb('shown_to', '=', eb.lit(2)))

const document = (element: string, entries: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${element} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('\n')}</${element}>\n`
