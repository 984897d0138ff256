/**
 * Matches the redirect URI of a local client: http on the loopback interface, with a port (RFC 8252 §7.3). The pattern is strict so that no
 * browser or other parser can interpret the URI as a different host.
 */
const loopback =
  /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost):(?<port>[1-9]\d{0,4})(?:\/(?:[\w.~!$&'()*+,;=:@/-]|%[2-9A-Fa-f][\dA-Fa-f])*)?(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[2-9A-Fa-f][\dA-Fa-f])*)?$/

const maxLength = 2000

/** Returns whether a code may be sent to this URI. */
export function isLoopbackRedirect(uri: string): boolean {
  const port = uri.length <= maxLength && loopback.exec(uri)?.groups?.port
  return Boolean(port) && Number(port) <= 65_535
}

/** Adds query parameters to a URI. Undefined parameters are omitted. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri}${separator}${new URLSearchParams(given)}`
}
