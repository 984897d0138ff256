import { invalidInput } from '../errors.ts'

/** Names that no DNS vouches for (RFC 6761, 6762, 7686, 9476), and the tree of reverse look-ups. */
const noDns = new Set(['localhost', 'local', 'invalid', 'onion', 'alt', 'arpa'])

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * A domain in the form that is a publisher's id: lower case, without the final dot. It has two labels at least; internationalised ones are
 * refused, since two that look alike cannot be told apart. What passes holds nothing that could reach another name than `_svc-verify.<domain>`.
 * @throws ApiError InvalidInput.
 */
export function parseDomain(text: string): string {
  const domain = text.trim().toLowerCase().replace(/\.$/, '')
  const labels = domain.split('.')
  // oxlint-disable-next-line no-control-regex -- ASCII is what this is about
  if (!/^[\u0000-\u007f]*$/.test(text) || labels.some((one) => one.startsWith('xn--')))
    throw refused('must be written in plain letters: internationalised domains can be mistaken for others')
  if (domain.length > 64) throw refused('must be at most 64 characters long')
  if (labels.length < 2 || !labels.every((one) => label.test(one)) || !/^[a-z][a-z0-9-]*$/.test(labels.at(-1) ?? ''))
    throw refused('must be a domain such as acme.dev, without scheme, port or path')
  if (noDns.has(labels.at(-1) ?? '')) throw refused(`must be a domain that the DNS knows; .${labels.at(-1)} is not`)
  return domain
}

const refused = (why: string) => invalidInput(`domain: ${why}.`, 'domain')
