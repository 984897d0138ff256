import { pagePlaceholder, placeholderMark, rawPlaceholder } from './finish.ts'
import { imageLater, type ImageSettings, resolveImage, resolveRemote } from './images.ts'

/**
 * Resolves a link target of a document to a URL. Returns null if the target cannot be resolved. With the purpose `image`, the URL is loaded by the
 * reader's browser: an image that is not resolved becomes a link. With the purpose `page`, the URL is the page of this server that shows the file
 * which an absolute link into the package's repository names, if the version contains the file.
 */
export type LinkResolver = (target: string, purpose: 'link' | 'image' | 'page') => string | null

/** How the links of a text are resolved, in a form that can be sent to a worker thread. */
export type Links = PackageLinks | RepositoryLinks | SiteLinks | WholeLinks

/**
 * Relative links point to the files of the package version (`insertAddresses`). Targets outside the package point into its repository.
 * `path` is the path of the document in the archive.
 */
export type PackageLinks = { kind: 'package'; serverUrl: string; path: string; repository: string | null; images: ImageSettings }

/** Relative links and images point into the repository, for documents of packages that are not on this server. */
type RepositoryLinks = { kind: 'repository'; path: string; repository: string | null; images: ImageSettings }

/** Links starting with `/` point to pages of this server. All other links must be absolute. */
type SiteLinks = { kind: 'site'; serverUrl: string }

/** Only absolute URLs become links. */
type WholeLinks = { kind: 'whole' }

/** Returns the link resolver for these settings. */
export function linkResolver(links: Links): LinkResolver {
  if (links.kind === 'package') return packageLinks(links)
  if (links.kind === 'repository') {
    const { path, repository, images } = links
    const inRepository = repositoryLinks(repository, path)
    return (target, purpose) =>
      purpose === 'image' ? resolveRemote(fileInRepository(repository, path, target), images) : inRepository(target, purpose)
  }
  if (links.kind === 'site') return (target, purpose) => (purpose === 'link' ? onSite(links.serverUrl, target) : null)
  return (target, purpose) => (purpose === 'link' && /^https?:\/\//i.test(target) ? (URL.parse(target)?.href ?? null) : null)
}

function onSite(serverUrl: string, target: string): string | null {
  if (/^(https?:\/\/|mailto:)/i.test(target)) return URL.parse(target)?.href ?? null
  return /^\/(?![/\\])/.test(target) ? `${serverUrl}${target}` : null
}

/** Replaces the placeholders in a rendered text by the URLs of a version. `basePath` is the path of SERVER_URL, without a trailing slash. */
export function insertAddresses(html: string, { basePath, name, version }: { basePath: string; name: string; version: string }): string {
  if (!html.includes(placeholderMark)) return html
  const encoded = encodeURIComponent(version)
  return html
    .replaceAll(pagePlaceholder, `${basePath}/packages/${encodeURIComponent(name)}/versions/${encoded}`)
    .replaceAll(rawPlaceholder, `${basePath}/raw/${encodeURIComponent(name)}/${encoded}`)
}

/** Whether a URL is a page of this server, according to the link settings. */
export const isOwnPage = (url: string): boolean => url.startsWith(placeholderMark)

function packageLinks(links: PackageLinks): LinkResolver {
  const { path, repository, images } = links
  const elsewhere = repositoryLinks(repository, path)
  return (target, purpose) => {
    if (purpose === 'page') return ownPage(repository, target)
    const inside = pathInPackage(target, path)
    if (purpose === 'image')
      return inside ? resolveImage(target, inside.path, images) : resolveRemote(fileInRepository(repository, path, target), images)
    return inside ? pageOf(inside) : elsewhere(target, purpose)
  }
}

type Inside = { path: string; fragment: string }

/** Returns the encoded path in the package that a relative target names, or null if it names anything else. */
export function pathInPackage(target: string, documentPath: string): Inside | null {
  if (/^([a-z][a-z0-9+.-]*:|[/\\]{2})/i.test(target.trim())) return null
  const root = 'https://archive.invalid/above/package/'
  const url = URL.parse(target.trim().replace(/^[/\\]/, root), `${root}${encodePath(documentPath)}`)
  if (!url?.href.startsWith(root)) return null
  return { path: url.pathname.slice(new URL(root).pathname.length), fragment: url.hash }
}

const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/')

/** Returns the page that shows a file of the package. Documents with a tab of their own are shown there. */
function pageOf({ path, fragment }: Inside): string {
  const tab = tabs.find(([pattern]) => pattern.test(path))?.[1]
  if (tab === undefined) return `${pagePlaceholder}/files${path && `/${path}`}${fragment}`
  return `${pagePlaceholder}${tab}${fragment && `#doc-${fragment.slice(1)}`}`
}
const tabs: [RegExp, string][] = [
  [/^readme(\.(md|markdown|mkd))?$/i, ''],
  [/^changelog(\.(md|markdown|mkd))?$/i, '/changelog'],
  [/^licen[cs]e(\.(md|txt))?$/i, '/license'],
]

/**
 * Returns a resolver for the relative links of a document. Links point into the package's repository if it is on GitHub, GitLab, Gitea or
 * Forgejo, including self-hosted instances, because the URL format of other hosts is unknown. `path` is the path of the document in the archive. Images are not
 * resolved, because loading them would reveal the reader to another server.
 */
export function repositoryLinks(repository: string | null, path: string): LinkResolver {
  const root = repository === null ? null : rootOf(repository)
  return (target, purpose) => {
    if (purpose !== 'link') return null
    if (/^https?:\/\//i.test(target)) return URL.parse(target)?.href ?? null
    if (/^mailto:/i.test(target)) return target
    if (!root || /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return null
    const base = `${root.blob}${root.folder}`
    const resolved = URL.parse(target.startsWith('/') ? `.${target}` : target, target.startsWith('/') ? base : `${base}${path}`)
    // Reject targets with so many `..` segments that they leave the repository.
    return resolved?.href.startsWith(root.blob) ? resolved.href : null
  }
}

/**
 * Returns the URL of the content of a file that a relative target names in the package's repository (see `repositoryLinks`). Returns other targets
 * unchanged.
 */
export function fileInRepository(repository: string | null, path: string, target: string): string {
  if (/^([a-z][a-z0-9+.-]*:|[/\\]{2})/i.test(target.trim())) return target
  const page = repositoryLinks(repository, path)(target, 'link')
  return page?.replace(/^(https?:\/\/[^?#]*?)\/(?:blob\/|src\/(?=(?:branch|tag|commit|HEAD)\/))/, '$1/raw/') ?? target
}

/**
 * Returns a resolver for the links of API documentation: relative links point to the files of the package version (`insertAddresses`), and images have
 * placeholders (see `imageLater`).
 */
export function documentationLinks(repository: string | null, path: string): LinkResolver {
  const elsewhere = repositoryLinks(repository, path)
  return (target, purpose) => {
    if (purpose === 'image') return imageLater(fileInRepository(repository, path, target))
    if (purpose === 'page') return null
    const inside = pathInPackage(target, path)
    return inside ? pageOf(inside) : elsewhere(target, purpose)
  }
}

/** Returns the URL of a package's repository: `repository` of its pubspec, or else its home page or issue tracker, if it is in a repository. */
export function repositoryOf({ repository, homepage, issueTracker }: Addresses): string | null {
  if (repository !== null) return repository
  const tracker = issueTracker?.replace(/\/-\/issues\/?$/, '/-/tree/HEAD/').replace(/\/issues\/?$/, '') ?? null
  return [homepage, tracker].find((url) => url !== null && rootOf(url) !== null) ?? homepage ?? tracker
}
type Addresses = { repository: string | null; homepage: string | null; issueTracker: string | null }

/** Returns the page of a file of the package that an absolute link into its repository names, on any branch or tag; null for other links. */
function ownPage(repository: string | null, target: string): string | null {
  const [own, url] = [URL.parse(repository ?? ''), URL.parse(target.trim())]
  if (!own || !url || !/^https?:$/.test(url.protocol) || url.username || url.host !== own.host) return null
  const ownPath = own.pathname.replace(/(?:\.git)?\/?$/, '')
  const [, project = ownPath, folder] = folderInRepository.exec(ownPath) ?? []
  const rest = url.pathname.toLowerCase().startsWith(`${project.toLowerCase()}/`) ? url.pathname.slice(project.length) : ''
  const [, path] = fileOnBranch.exec(rest) ?? []
  const prefix = folder === undefined ? '' : `${folder}/`
  if (!path?.startsWith(prefix) || path === prefix || !/^\/[^/]+\/./.test(project)) return null
  return pageOf({ path: path.slice(prefix.length), fragment: url.hash })
}
const folderInRepository = /^(\/[^/]+\/.+?)(?:\/(?:-\/)?(?:tree|blob)|\/src\/(?:branch|tag|commit))\/[^/]+(?:\/(.+))?$/
/** The content of a commit, which has 40 digits, never changes, and the lines of its files are those of no version. */
const fileOnBranch = /^(?:\/(?:-\/)?(?:tree|blob)|\/src\/(?:branch|tag)|\/src(?=\/HEAD\/))\/(?![\da-f]{40}\/)[^/]+\/(.+?)\/?$/

type Root = { blob: string; folder: string }

/**
 * Returns the base URL for viewing the files of a repository, and the package's folder in it. GitHub and GitLab are recognized by their host, GitLab
 * and Gitea (also Forgejo) on any other host by the path of a folder: `/-/tree/main/` or `/src/branch/main/`.
 */
function rootOf(repository: string): Root | null {
  const url = URL.parse(repository)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  const path = url.pathname.replace(/\.git\/?$/, '')
  const isGitHub = /(^|\.)github\./.test(url.host)
  const [, giteaProject, kind, giteaInside] = (!isGitHub && /^(\/[^/]+\/[^/]+)\/src\/(branch|tag|commit)\/(.+)$/.exec(path)) || []
  if (giteaProject !== undefined) return rootIn(`${url.origin}${giteaProject}/src/${kind}`, giteaInside ?? '')
  if (giteaHosts.has(url.host)) return /^\/[^/]+\/[^/]+\/?$/.test(path) ? rootIn(`${url.origin}${path.replace(/\/$/, '')}/src`, '') : null
  const isGitLab = !isGitHub && (/(^|\.)gitlab\./.test(url.host) || /\/-\/(?:tree|blob)\//.test(path))
  if (!isGitLab && !isGitHub) return null
  const [project = '', inside = ''] = path.split(isGitLab ? /\/-\/(?:tree|blob)\// : /(?<=^\/[^/]+\/[^/]+)\/(?:tree|blob)\//)
  const names = project.split('/').filter(Boolean)
  if (names.length < 2 || (!isGitLab && names.length > 2)) return null
  return rootIn(`${url.origin}/${names.join('/')}${isGitLab ? '/-' : ''}/blob`, inside)
}

const giteaHosts = new Set(['codeberg.org', 'gitea.com'])

/** `inside` is the name of a branch, and the folder of the package in it. */
function rootIn(files: string, inside: string): Root {
  const [branch = 'HEAD', ...folders] = inside.split('/').filter(Boolean)
  return { blob: `${files}/${branch}/`, folder: folders.map((name) => `${name}/`).join('') }
}
