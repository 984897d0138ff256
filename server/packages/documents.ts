import { byteCache } from '../http/byte-cache.ts'
import type { PackageVersion, VersionDocument } from './entity.ts'
import { pubspecOf } from './pubspec-view.ts'
import { repositoryLinks } from './repository-links.ts'

/** A version's text as HTML that is safe to show. It never changes, so it is rendered once and kept for a while. */
export async function renderDocument(version: PackageVersion, { kind, path, content }: VersionDocument): Promise<string> {
  const key = `${version.id} ${kind}`
  let html = cache.get(key)
  if (html === undefined) {
    html = await render(version, path, content)
    cache.set(key, html)
  }
  return html
}

const cache = byteCache<string>(16 * 1024 ** 2, (html) => 2 * html.length)

async function render(version: PackageVersion, path: string, content: string): Promise<string> {
  // Only when the first text is read: it takes ten megabytes.
  const { escapeHtml, renderMarkdown } = await import('../markdown/render.ts')
  if (/\.(md|markdown|mkd)$/i.test(path) || /^(readme|changelog)$/i.test(path)) {
    const { repository, homepage } = pubspecOf(version)
    return renderMarkdown(content, repositoryLinks(repository ?? homepage, path))
  }
  const language = /\.dart$/i.test(path) ? ' class="language-dart"' : ''
  return `<pre><code${language}>${escapeHtml(content)}</code></pre>`
}
