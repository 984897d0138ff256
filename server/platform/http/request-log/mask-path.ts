const masked = '***'

/** Replaces invitation tokens, access tokens and e-mail addresses in a path by `***`, also if they or the slashes are percent-encoded. */
export function maskPath(path: string): string {
  if (!suspicious.test(path)) return path
  let afterInvite = false
  const shown = path.split('/').map((segment) => {
    // An empty segment between `invite` and the token is skipped.
    if (segment === '') return segment
    const plain = decoded(segment)
    const parts = plain.split(/[/\\]/)
    const isSecret = afterInvite || parts.slice(0, -1).some(isInvite) || plain.includes('@') || encoded.test(plain)
    afterInvite = isInvite(parts.at(-1) ?? '')
    if (isSecret) return masked
    if (plain === segment) return segment.replace(secret, `$1${masked}`)
    return plain.search(secret) >= 0 ? masked : segment
  })
  return shown.join('/')
}

/** Fast path: most paths contain nothing to mask. */
const suspicious = /[%@]|invite|svc_/i
/** Access tokens and job tokens (server/platform/access/token-secret.ts), and upload keys (server/registry/uploads/key.ts). */
const secret = /(svc_(?:pat|job|upload)_)\w*/gi
const encoded = /%[0-9a-f]{2}/i
const isInvite = (part: string): boolean => /^invites?$/i.test(part)

/**
 * Decodes percent-encoding up to three times, since proxies and clients may encode a path repeatedly. Bytes above ASCII are not decoded as UTF-8,
 * which masking does not need.
 */
function decoded(segment: string, times = 3): string {
  if (times === 0 || !encoded.test(segment)) return segment
  const once = segment.replace(/%([0-9a-f]{2})/gi, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decoded(once, times - 1)
}
