/** Turns what a document says about files beside it into addresses; null for what leads nowhere. */
export type LinkResolver = (target: string, purpose: 'link' | 'image') => string | null

/**
 * How the relative links of a document resolve: into the package's repository where that is a GitHub or GitLab (their own or a
 * company's), for else nobody knows how its addresses look. `path` is the document's own in the archive.
 */
export function repositoryLinks(repository: string | null, path: string): LinkResolver {
  const root = repository === null ? null : rootOf(repository)
  return (target, purpose) => {
    if (/^https?:\/\//i.test(target)) return URL.parse(target)?.href ?? null
    if (/^mailto:/i.test(target)) return purpose === 'link' ? target : null
    if (!root || /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return null
    const base = `${purpose === 'image' ? root.raw : root.blob}${root.folder}`
    const resolved = URL.parse(target.startsWith('/') ? `.${target}` : target, target.startsWith('/') ? base : `${base}${path}`)
    // More `..` than there are folders would lead out of the repository.
    return resolved?.href.startsWith(purpose === 'image' ? root.raw : root.blob) ? resolved.href : null
  }
}

type Root = { blob: string; raw: string; folder: string }

/** Where the files of a repository are shown and served, and the package's folder in it. */
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
