import type { Described } from '../dart/api.ts'
import { documentationLinks, type LinkResolver } from '../../registry/markdown/links.ts'
import { renderComment, renderSummary } from './doc-comment.ts'
import type { Templates } from './directives.ts'
import { type Html, html, nothing } from './html.ts'
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
export type PageContext = { site: Site; templates: Templates }

/** Creates the rendering functions for the page at `path`, which may belong to a library or a type. */
export function viewOf({ site, templates }: PageContext, path: string, where: { libraryPage?: LibraryPage; place?: Place } = {}): View {
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
  return {
    site,
    path,
    to,
    comment: (doc, level, signature = '') => renderComment(doc, addresses(signature), { templates, level }),
    summary: (doc) => renderSummary(doc, { ...addresses(''), link: withoutImages(link) }, { templates, level: 3 }),
    signature: ({ signature, name }) => html`<pre class="signature">${renderSignature(signature, name, typeAddress)}</pre>`,
    deprecation: ({ deprecated }) =>
      deprecated === null
        ? nothing
        : html`<div class="deprecated">
            <strong>Deprecated</strong>${renderComment(deprecated, addresses(''), { templates, level: 4 })}
          </div>`,
    source: ({ source }) => sourceLink(source, link),
  }
}

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
  return html`<p class="source">
    ${address === null ? html`<span>${text}</span>` : html`<a href="${address}#L${line}" rel="nofollow noopener">${text}</a>`}
  </p>`
}
