import { type LinkResolver, repositoryLinks } from './repository-links.ts'

/** How a text's links resolve, in a form that another thread can take. */
export type Links =
  /** Relative ones lead into the repository of the package; `path` is the document's own in the archive. */
  | { kind: 'repository'; repository: string | null; path: string }
  /** Those from the root lead to the pages of this server; to other places only whole ones. */
  | { kind: 'site'; serverUrl: string }
  /** Only whole addresses are links. */
  | { kind: 'whole' }

/** The resolver that is described. */
export function linkResolver(links: Links): LinkResolver {
  if (links.kind === 'repository') return repositoryLinks(links.repository, links.path)
  if (links.kind === 'site') return (target) => onSite(links.serverUrl, target)
  return (target) => (/^https?:\/\//i.test(target) ? (URL.parse(target)?.href ?? null) : null)
}

function onSite(serverUrl: string, target: string): string | null {
  if (/^(https?:\/\/|mailto:)/i.test(target)) return URL.parse(target)?.href ?? null
  return /^\/(?![/\\])/.test(target) ? `${serverUrl}${target}` : null
}
