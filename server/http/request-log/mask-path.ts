const masked = '***'

/**
 * The path as the log may show it: invitations, tokens and e-mail addresses are replaced by `***`, also where they are percent-encoded, slashes
 * included.
 */
export function maskPath(path: string): string {
  if (!suspicious.test(path)) return path
  let afterInvite = false
  const shown = path.split('/').map((segment) => {
    // Two slashes in a row do not separate an invitation from its token.
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

/** Whether there could be anything to mask; most paths cost no more than this. */
const suspicious = /[%@]|invite|svc_/i
/** An access token or the token of a job (server/access/token-secret.ts), or the key of an upload (server/uploads/key.ts). */
const secret = /(svc_(?:pat|job|upload)_)\w*/gi
const encoded = /%[0-9a-f]{2}/i
const isInvite = (part: string): boolean => /^invites?$/i.test(part)

/** The segment with its percent-encoding undone, as far as proxies and mistakes apply it. Bytes above ASCII do not matter here. */
function decoded(segment: string, times = 3): string {
  if (times === 0 || !encoded.test(segment)) return segment
  const once = segment.replace(/%([0-9a-f]{2})/gi, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decoded(once, times - 1)
}
