import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { audienceOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { basePath } from '../../platform/http/public-url.ts'
import { type Html, html } from '../api-pages/html.ts'
import { type ImageSettings, insertImages, resolveRemote } from '../../registry/markdown/images.ts'
import { listDocumented } from './service.ts'

/** The links at the top of a documentation page: to the registry, the package, and the same page of other versions. */
type SiteLinks = { html: string; etag: string }

/** Maximum size in bytes of a page that gets these links and shows images. Compressing larger ones again takes too long. */
const maxBytes = 1024 ** 2

type Documented = Awaited<ReturnType<typeof listDocumented>>[number]
type Shown = { name: string; version: string; path: string; size: number }

/**
 * Returns the links for a page, or null if it is too large. They are inserted when a page is sent, because the list of versions changes while
 * generated pages do not. The list is a `<details>` element, so it needs no script.
 */
export async function siteLinks(context: Context, { name, version, path, size }: Shown): Promise<SiteLinks | null> {
  if (size > maxBytes) return null
  const base = basePath(context.config.SERVER_URL)
  const documented = await listDocumented(context, audienceOf(context), name)
  const page = path.replace(/(^|\/)index\.html$/, '$1')
  const address = (number: string) =>
    `${base}/documentation/${name}/${encodeURIComponent(number)}/${page.split('/').map(encodeURIComponent).join('/')}`
  const link = ({ version: number, isRetracted }: Documented): Html => {
    const isShown = number === version
    const item = isShown
      ? html`<a href="${address(number)}" aria-current="page">${number}</a>`
      : html`<a href="${address(number)}">${number}</a>`
    return html`<li>${item}${isRetracted ? html` <span>retracted</span>` : null}</li>`
  }
  const links = html`<nav class="site" aria-label="Package">
    <a href="${base}/packages">Packages</a>
    <a href="${base}/packages/${name}/versions/${encodeURIComponent(version)}">${name}</a>
    <details class="versions">
      <summary>Version ${version}</summary>
      <ul>
        ${documented.map(link)}
        <li><a href="${base}/packages/${name}/versions">All versions</a></li>
      </ul>
    </details>
  </nav>`
  return { html: links.text, etag: hash('sha256', links.text).slice(0, 12) }
}

const decompress = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

/**
 * Unpacks a page and completes it: inserts links before the tools of its header, which precede all content of the package, and the URLs of its images.
 */
export async function completePage(gzipped: Buffer, links: SiteLinks, images: ImageSettings): Promise<Buffer> {
  const page = (await decompress(gzipped, { maxOutputLength: maxBytes })).toString()
  return Buffer.from(insertImages(page, images).replace('<div class="tools">', (tools) => links.html + tools))
}

/** Returns a text that differs for settings with which the URLs of images differ. */
export const imagesTag = (images: ImageSettings): string =>
  hash('sha256', `${resolveRemote('https://image.invalid/', images)}`).slice(0, 12)
