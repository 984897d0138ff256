import { invalidInput } from '../../errors.ts'

/** Top-level names without public DNS (RFC 6761, 6762, 7686, 9476), and the tree for reverse lookups. */
const noDns = new Set(['localhost', 'local', 'invalid', 'onion', 'alt', 'arpa'])

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes a domain to the form used as publisher id: lower case, without the trailing dot. Requires at least two labels and rejects
 * internationalized domains, because lookalikes cannot be distinguished. The result is safe to prefix with `_svc-verify.`.
 * @throws ApiError InvalidInput.
 */
export function parseDomain(text: string): string {
  const domain = text.trim().toLowerCase().replace(/\.$/, '')
  const labels = domain.split('.')
  // oxlint-disable-next-line no-control-regex -- the range is all of ASCII
  if (!/^[\u0000-\u007f]*$/.test(text) || labels.some((one) => one.startsWith('xn--')))
    throw refused('must contain only ASCII letters: internationalized domains can be mistaken for others')
  if (domain.length > 64) throw refused('must be at most 64 characters long')
  if (labels.length < 2 || !labels.every((one) => label.test(one)) || !/^[a-z][a-z0-9-]*$/.test(labels.at(-1) ?? ''))
    throw refused('must be a domain such as acme.dev, without scheme, port or path')
  if (noDns.has(labels.at(-1) ?? '')) throw refused(`must be a domain in the public DNS; .${labels.at(-1)} is not`)
  return domain
}

const refused = (why: string) => invalidInput(`domain: ${why}.`, 'domain')
