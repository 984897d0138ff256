/** Where packages may come from: this server's URL, those that it had before (in normal form), and what `ALLOWED_HOSTED_URLS` adds. */
export type HostedRules = { serverUrl: string; formerUrls?: readonly string[]; allowedHostedUrls: readonly string[] }

const pubDev = 'https://pub.dev'

/**
 * A registry URL in the form to compare by: lower-case host, no default port, no trailing slash; the old name of pub.dev becomes the new one.
 * Null for what the client would refuse: not http(s), no host, or user-info, query or fragment. Source: pub's `validateAndNormalizeHostedUrl`.
 */
export function normalHostedUrl(text: string): string | null {
  const url = webUrl(text)
  if (!url || url.username || url.password || /[?#]/.test(text)) return null
  const normal = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return normal === 'https://pub.dartlang.org' ? pubDev : normal
}

/** Whether a normal hosted URL is pub.dev, this server, or an allowed URL or below one. */
export function isAllowedHost(url: string, rules: HostedRules): boolean {
  const allowed = rules.allowedHostedUrls.map(normalHostedUrl)
  return url === pubDev || isOwnUrl(url, rules) || allowed.some((each) => each !== null && (url === each || url.startsWith(`${each}/`)))
}

/** Whether a URL is this server's, now or before. */
export function isOwnUrl(text: string, { serverUrl, formerUrls = [] }: HostedRules): boolean {
  const url = normalHostedUrl(text)
  return url !== null && (url === normalHostedUrl(serverUrl) || formerUrls.includes(url))
}

/** An absolute http(s) URL with a host, else null. */
export function webUrl(text: string): URL | null {
  return /^https?:\/\/[^\s\\/]/i.test(text) && !/[\s\\]/.test(text) ? URL.parse(text) : null
}

/**
 * Whether a text is a URL with credentials before the `@`: a user name or a password over http(s), a password over anything else, since the user
 * name in `ssh://git@example.com` is not a secret.
 */
export function hasCredentials(text: string): boolean {
  const url = /^\s*[a-z][a-z0-9+.-]*:/i.test(text) ? URL.parse(text) : null
  return url !== null && (url.password !== '' || (/^https?:$/.test(url.protocol) && url.username !== ''))
}
