/** Allowed sources of packages: this server's URL, its former URLs (normalized), and the URLs in `ALLOWED_HOSTED_URLS`. */
export type HostedRules = { serverUrl: string; formerUrls?: readonly string[]; allowedHostedUrls: readonly string[] }

const pubDev = 'https://pub.dev'

/**
 * Normalizes a registry URL for comparison: lower-case host, no default port, no trailing slash, and the current host name of pub.dev. Returns null
 * for URLs that the pub client rejects: not http(s), no host, or with user info, query or fragment. Source: pub's `validateAndNormalizeHostedUrl`.
 */
export function normalHostedUrl(text: string): string | null {
  const url = webUrl(text)
  if (!url || url.username || url.password || /[?#]/.test(text)) return null
  const normal = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return normal === 'https://pub.dartlang.org' ? pubDev : normal
}

/** Whether the URL of a package in a lock file is among registry URLs, however these are written. Old lock files have no URL for pub.dev. */
export function isAmongHosted(urls: readonly string[], lockedUrl: string | null): boolean {
  const url = normalHostedUrl(lockedUrl ?? pubDev)
  return url !== null && urls.some((one) => normalHostedUrl(one) === url)
}

/** Returns a registry URL as the pub client writes it into lock files: normalized, with a trailing slash if it has a path. */
export function lockedHostedUrl(text: string): string {
  const normal = normalHostedUrl(text) ?? text
  return URL.parse(normal)?.pathname === '/' ? normal : `${normal}/`
}

/** Returns whether a normalized URL is pub.dev, this server, or an allowed URL or a path below one. */
export function isAllowedHost(url: string, rules: HostedRules): boolean {
  const allowed = rules.allowedHostedUrls.map(normalHostedUrl)
  return url === pubDev || isOwnUrl(url, rules) || allowed.some((each) => each !== null && (url === each || url.startsWith(`${each}/`)))
}

/** Returns whether a URL is the current URL or a former URL of this server. */
export function isOwnUrl(text: string, { serverUrl, formerUrls = [] }: HostedRules): boolean {
  const url = normalHostedUrl(text)
  return url !== null && (url === normalHostedUrl(serverUrl) || formerUrls.includes(url))
}

/** Parses an absolute http(s) URL with a host. Returns null for other texts. */
export const webUrl = (text: string): URL | null => (/^https?:\/\/[^\s\\/]/i.test(text) && !/[\s\\]/.test(text) ? URL.parse(text) : null)

/** Returns whether a text is a URL with a password, or for http(s) with a user name, which is not secret in `ssh://git@example.com`. */
export function hasCredentials(text: string): boolean {
  const url = /^\s*[a-z][a-z0-9+.-]*:/i.test(text) ? URL.parse(text) : null
  return url !== null && (url.password !== '' || (/^https?:$/.test(url.protocol) && url.username !== ''))
}
