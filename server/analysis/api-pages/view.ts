import type { Described } from '../dart/api.ts'
import { documentationLinks, insertAddresses, type LinkResolver } from '../../registry/markdown/links.ts'
import { type Comments, renderComment, renderSummary } from './doc-comment.ts'
import { Html, html, nothing } from './html.ts'
import { resolveReference, type Target } from './references.ts'
import { renderSignature } from './signature.ts'
import { hasPage, type LibraryPage, type Place, type Site } from './site.ts'

/** Rendering functions for a page. All URLs are relative to the page. */
export type View = {
  site: Site
  path: string
  /** Returns the URL of a page or anchor. */
  to: (target: Target) => string
  /** Renders a doc comment below a heading of the given level. */
  comment: (doc: string | null, level: number, signature?: string) => Html
  summary: (doc: string | null) => Html
  signature: (described: Described) => Html
  deprecation: (described: Described) => Html
  source: (described: Described) => Html
}

/** Shared context of all pages. */
export type PageContext = { site: Site; comments: Comments }

/** Creates the rendering functions for the page at `path`, which may belong to a library or a type. */
export function viewOf({ site, comments }: PageContext, path: string, where: { libraryPage?: LibraryPage; place?: Place } = {}): View {
  const [libraryPage, place] = [where.libraryPage ?? null, where.place ?? null]
  const to = (target: Target) => addressFrom(path, target)
  const link = documentationLinks(site.about.repository, place?.declaration.source.path ?? `lib/${libraryPage?.library.path ?? ''}`)
  const addresses = (parameters: string) => ({
    link,
    reference(name: string) {
      const target = resolveReference(name, { libraryPage, place, parameters }, site)
      return target && to(target)
    },
  })
  const typeAddress = (name: string) => {
    const found = site.find(name, libraryPage)
    return found && found.path !== path && (hasPage(found.declaration) || found.declaration.kind === 'typedef') ? to(found) : null
  }
  const linked = (made: Html) => withLinks(made, site, path)
  return {
    site,
    path,
    to,
    comment: (doc, level, signature = '') => linked(renderComment(doc, { addresses: addresses(signature), level }, comments)),
    summary: (doc) => linked(renderSummary(doc, { addresses: { ...addresses(''), link: withoutImages(link) }, level: 3 }, comments)),
    signature: ({ signature, name }) => html`<pre class="signature">${renderSignature(signature, name, typeAddress)}</pre>`,
    deprecation: ({ deprecated }) =>
      deprecated === null
        ? nothing
        : html`<div class="deprecated">
            <strong>Deprecated</strong>${linked(renderComment(deprecated, { addresses: addresses(''), level: 4 }, comments))}
          </div>`,
    source: ({ source }) => linked(sourceLink(source, link)),
  }
}

/** Completes the links to the files of the package, as relative URLs from the page at `path`. */
export const withLinks = ({ text }: Html, { about: { name, version } }: Site, path: string): Html =>
  new Html(insertAddresses(text, { basePath: `${upFrom(path)}../../..`, name, version }))

/** Lists describe declarations without their images. */
const withoutImages =
  (link: LinkResolver): LinkResolver =>
  (target, purpose) =>
    purpose === 'image' ? null : link(target, purpose)

/** Returns a relative URL, so that pages work below any base URL. */
export function addressFrom(from: string, { path, anchor }: Target): string {
  const fragment = anchor === null ? '' : `#${encodeURIComponent(anchor)}`
  if (path === from) return fragment || (path.split('/').at(-1) ?? '')
  const folder = folderOf(from)
  const relative = folder && path.startsWith(folder) ? path.slice(folder.length) : `${upFrom(from)}${path}`
  return `${relative}${fragment}`
}

/** Returns the relative URL from a page to the folder of `index.html`. */
export const upFrom = (path: string): string => '../'.repeat(path.split('/').length - 1)

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1)

function sourceLink({ path, line }: Described['source'], link: LinkResolver): Html {
  const address = link(`/${path.split('/').map(encodeURIComponent).join('/')}`, 'link')
  const text = `${path}:${line}`
  return html`<p class="source">${address === null ? html`<span>${text}</span>` : html`<a href="${address}#L${line}">${text}</a>`}</p>`
}
