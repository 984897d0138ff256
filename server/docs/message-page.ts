import { html } from '../api-pages/html.ts'
import type { Context } from '../access/context.ts'
import type { ApiError } from '../errors.ts'
import { challenge } from '../http/failures.ts'
import { notStored, sendHeadersOnly } from '../http/caching/conditional.ts'
import { basePath } from '../http/public-url.ts'
import type { FoundVersion } from './find.ts'
import { pageHeaders } from './headers.ts'
import { type ShownState, stateOf } from './service.ts'
import { areDocsOn } from './switch.ts'

type Message = { status: number; title: string; text: string; links: readonly { label: string; href: string }[] }

/** Answers a person with a page that says what is the matter and where to go. */
export function sendMessage(context: Context, { status, title, text, links }: Message): unknown {
  const { request, reply, config } = context
  const base = basePath(config.SERVER_URL)
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <link rel="stylesheet" href="${base}/documentation/-/docs.css" />
      </head>
      <body>
        <main class="message">
          <h1>${title}</h1>
          <p>${text}</p>
          ${links.map(({ label, href }) => html`<p><a href="${base}${href}">${label}</a></p>`)}
        </main>
      </body>
    </html> `
  // It holds for this moment.
  pageHeaders(context).header('cache-control', notStored).code(status).type('text/html; charset=utf-8')
  return request.method === 'HEAD' ? sendHeadersOnly(request, reply) : reply.send(page.text)
}

/** Says to a person why they do not get a page. */
export function sendRefusal(context: Context, { status, message, retryAfter }: ApiError): unknown {
  const { request, reply, config } = context
  if (status === 401 || status === 403) reply.header('www-authenticate', challenge(message))
  if (retryAfter) reply.header('retry-after', String(retryAfter))
  const here = request.url.slice(basePath(config.SERVER_URL).length)
  const titles: Record<number, string> = {
    401: 'Sign in to read this documentation',
    403: 'You may not read this',
    404: 'There is no such page',
  }
  return sendMessage(context, {
    status,
    title: titles[status] ?? 'The documentation cannot be shown',
    text: status === 401 ? 'It belongs to a package that is not public, or that is not on this server.' : message,
    links:
      status === 401
        ? [{ label: 'Sign in', href: `/login?redirect=${encodeURIComponent(here)}` }]
        : [{ label: 'All packages', href: '/packages' }],
  })
}

/** Says that there are no pages yet, and how far they are. */
export async function sendNotGenerated(context: Context, name: string, { version, docs, isAwaited }: FoundVersion): Promise<unknown> {
  const texts: Record<ShownState, string> = {
    disabled: 'This server generates no documentation.',
    not_analyzed: 'It was not asked for yet. An administrator can have it generated.',
    pending: 'It is about to be generated. Come back in a moment.',
    running: 'It is being generated. Come back in a moment.',
    completed: 'It was generated without pages. An administrator can have it generated again.',
    failed: `It could not be generated: ${docs?.error ?? 'no reason was recorded.'}`,
  }
  return sendMessage(context, {
    status: 404,
    title: `${name} ${version} has no documentation yet`,
    text: texts[stateOf(docs, await areDocsOn(context), isAwaited)],
    links: [toPackage(name, version)],
  })
}

/** Says that there is no such page in the documentation that is there. */
export function sendNoPage(context: Context, name: string, at: string, version: string): unknown {
  return sendMessage(context, {
    status: 404,
    title: 'There is no such page',
    text: `The documentation of ${name} ${version} does not have it. It may have another name in another version.`,
    links: [
      { label: `Documentation of ${name} ${version}`, href: `/documentation/${name}/${encodeURIComponent(at)}/` },
      { label: 'Search in it', href: `/documentation/${name}/${encodeURIComponent(at)}/search.html` },
      toPackage(name, version),
    ],
  })
}

const toPackage = (name: string, version: string) => ({
  label: `${name} ${version}`,
  href: `/packages/${name}/versions/${encodeURIComponent(version)}`,
})
