/**
 * Where a command-line client listens: http on this computer, with a port. The address must be written in just this way, so that no other
 * reader of it, browsers included, can take it for another place (RFC 8252 §7.3).
 */
const loopback =
  /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost):(?<port>[1-9]\d{0,4})(?:\/(?:[\w.~!$&'()*+,;=:@/-]|%[2-9A-Fa-f][\dA-Fa-f])*)?(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[2-9A-Fa-f][\dA-Fa-f])*)?$/

const maxLength = 2000

/** Whether a code may be sent to this address. */
export function isLoopbackRedirect(uri: string): boolean {
  const port = uri.length <= maxLength && loopback.exec(uri)?.groups?.port
  return Boolean(port) && Number(port) <= 65_535
}

/** The address with these parameters added; what is undefined is left out. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri}${separator}${new URLSearchParams(given)}`
}
