import { answerQuestions } from '../../platform/threads/worker.ts'
import { renderMarkdown } from './render.ts'
import { type LinkResolver, repositoryLinks } from './render.ts'

/** The input of the worker thread, which returns HTML. */
export type Task = { source: string; links: Links }

answerQuestions(({ source, links }: Task) => renderMarkdown(source, linkResolver(links)))

/** How the links of a text are resolved, in a form that can be sent to a worker thread. */
type Links =
  /** Relative links point into the package's repository. `path` is the path of the document in the archive. */
  | { kind: 'repository'; repository: string | null; path: string }
  /** Links starting with `/` point to pages of this server. All other links must be absolute. */
  | { kind: 'site'; serverUrl: string }
  /** Only absolute URLs become links. */
  | { kind: 'whole' }

/** Returns the link resolver for these settings. */
function linkResolver(links: Links): LinkResolver {
  if (links.kind === 'repository') return repositoryLinks(links.repository, links.path)
  if (links.kind === 'site') return (target) => onSite(links.serverUrl, target)
  return (target) => (/^https?:\/\//i.test(target) ? (URL.parse(target)?.href ?? null) : null)
}

function onSite(serverUrl: string, target: string): string | null {
  if (/^(https?:\/\/|mailto:)/i.test(target)) return URL.parse(target)?.href ?? null
  return /^\/(?![/\\])/.test(target) ? `${serverUrl}${target}` : null
}
