import type { Router } from 'vue-router'
import { ApiLibrariesDocument, type PackageQueryVariables } from '../generated/graphql.ts'
import { client } from '../graphql.ts'
import type { useApiRoute } from './api.ts'

type Links = ReadonlyMap<string, string>

/** Maximum number of links in a document. */
const maxLinks = 500

/**
 * Links names of the package's API in the code of a document to their documentation: code that consists of a name, and the first mention of each type in
 * a block of code.
 */
export async function linkNames(
  root: HTMLElement,
  { name, version, exact }: Pick<PackageQueryVariables, 'name' | 'version' | 'exact'>,
  { router, routeOf }: { router: Router; routeOf: ReturnType<typeof useApiRoute> },
): Promise<void> {
  const { data } = await client.query(ApiLibrariesDocument, { name, version, exact }, { requestPolicy: 'cache-first' }).toPromise()
  const libraries = (data?.package?.version ?? data?.package?.displayedVersion)?.apiDocumentation.libraries ?? []
  const links = new Map<string, string>()
  for (const declaration of libraries.flatMap(({ declarations }) => declarations))
    if (!links.has(declaration.name)) links.set(declaration.name, router.resolve(routeOf(declaration)).href)
  if (links.size === 0) return
  let count = 0
  for (const code of root.querySelectorAll('code')) {
    if (count >= maxLinks) return
    if (!code.closest('a') && !code.querySelector('.name-link'))
      count += code.closest('pre') ? linkTypes(code, links) : linkWhole(code, links)
  }
}

/** Links code that consists of a name, also with parentheses or a member after it. Returns the number of links. */
function linkWhole(code: HTMLElement, links: Links): number {
  const [, name = ''] = /^([\w$]+)(?:\.[\w$]+)?(?:\(\))?$/.exec(code.textContent) ?? []
  const href = links.get(name)
  if (href === undefined) return 0
  const link = linkTo(href)
  link.append(...code.childNodes)
  code.append(link)
  return 1
}

/** Links the first mention of each type in a block, except in comments and texts. Returns the number of links. */
function linkTypes(block: HTMLElement, links: Links): number {
  const linked = new Set<string>()
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT)
  const texts: Text[] = []
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  for (let text of texts) {
    if (text.parentElement?.closest('.hl-c, .hl-s')) continue
    for (const [name] of text.data.matchAll(/\b[A-Z][\w$]*/g)) {
      const href = links.get(name)
      if (href === undefined || linked.has(name)) continue
      linked.add(name)
      const mention = text.splitText(text.data.search(new RegExp(String.raw`\b${name.replaceAll('$', String.raw`\$`)}(?![\w$])`)))
      text = mention.splitText(name.length)
      const link = linkTo(href)
      mention.replaceWith(link)
      link.append(mention)
    }
  }
  return linked.size
}

function linkTo(href: string): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = href
  link.className = 'name-link'
  return link
}
