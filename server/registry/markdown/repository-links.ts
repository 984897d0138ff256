/** Resolves a link target of a document to a URL. Returns null if the target cannot be resolved. */
export type LinkResolver = (target: string, purpose: 'link' | 'image') => string | null

/**
 * Returns a resolver for the relative links of a document. Links point into the package's repository if it is on GitHub or GitLab, including
 * self-hosted instances, because the URL format of other hosts is unknown. `path` is the path of the document in the archive.
 */
export function repositoryLinks(repository: string | null, path: string): LinkResolver {
  const root = repository === null ? null : rootOf(repository)
  return (target, purpose) => {
    if (/^https?:\/\//i.test(target)) return URL.parse(target)?.href ?? null
    if (/^mailto:/i.test(target)) return purpose === 'link' ? target : null
    if (!root || /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return null
    const base = `${purpose === 'image' ? root.raw : root.blob}${root.folder}`
    const resolved = URL.parse(target.startsWith('/') ? `.${target}` : target, target.startsWith('/') ? base : `${base}${path}`)
    // Reject targets with so many `..` segments that they leave the repository.
    return resolved?.href.startsWith(purpose === 'image' ? root.raw : root.blob) ? resolved.href : null
  }
}

type Root = { blob: string; raw: string; folder: string }

/** Returns the base URLs for viewing and downloading the files of a repository, and the package's folder in it. */
function rootOf(repository: string): Root | null {
  const url = URL.parse(repository)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  const isGitLab = /(^|\.)gitlab\./.test(url.host)
  if (!isGitLab && !/(^|\.)github\./.test(url.host)) return null
  const [project = '', inside = ''] = url.pathname
    .replace(/\.git\/?$/, '')
    .split(isGitLab ? /\/-\/(?:tree|blob)\// : /(?<=^\/[^/]+\/[^/]+)\/(?:tree|blob)\//)
  const names = project.split('/').filter(Boolean)
  if (names.length < 2 || (!isGitLab && names.length > 2)) return null
  const [branch = 'HEAD', ...folders] = inside.split('/').filter(Boolean)
  const address = `${url.origin}/${names.join('/')}${isGitLab ? '/-' : ''}`
  return { blob: `${address}/blob/${branch}/`, raw: `${address}/raw/${branch}/`, folder: folders.map((name) => `${name}/`).join('') }
}
