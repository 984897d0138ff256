/** Where packages may come from: this server's URL, and what `ALLOWED_HOSTED_URLS` adds. */
export type HostedRules = { serverUrl: string; allowedHostedUrls: readonly string[] }

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
export function isAllowedHost(url: string, { serverUrl, allowedHostedUrls }: HostedRules): boolean {
  const allowed = allowedHostedUrls.map(normalHostedUrl)
  return (
    url === pubDev ||
    url === normalHostedUrl(serverUrl) ||
    allowed.some((each) => each !== null && (url === each || url.startsWith(`${each}/`)))
  )
}

/** An absolute http(s) URL with a host, else null. */
export function webUrl(text: string): URL | null {
  return /^https?:\/\/[^\s\\/]/i.test(text) && !/[\s\\]/.test(text) ? URL.parse(text) : null
}
