import { z } from 'zod'
import { email, label } from '../../accounts/users/input.ts'

/** A publisher's display name. */
export const publisherName = label(100)

/** Id of a publisher without a verified domain. It must not contain a dot, so it cannot be mistaken for a domain. */
export const slug = z
  .string()
  .regex(/^[^.]*$/, 'must not look like a domain. To use a domain as the identifier, claim it with a DNS record')
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])$/,
    'must be 2 to 64 lowercase letters, digits and hyphens, with a letter or digit at both ends',
  )
  .refine((id) => id !== 'verify', 'is reserved by this server. Choose another')

// oxlint-disable-next-line no-control-regex -- control characters are intended here
const noControl = /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]*$/

/** Multiline plain text. */
export const publisherDescription = z.string().trim().regex(noControl, 'must not contain control characters').nullish()

const nothing = (text: string) => (text === '' ? null : text)

/** An http or https URL with a host and without credentials. An empty string becomes null. */
export const websiteUrl = z
  .string()
  .trim()
  .refine((text) => text === '' || isWebAddress(text), 'must be an http or https address')
  .transform(nothing)
  .nullish()

/** An e-mail address. An empty string becomes null. */
export const contactEmail = z
  .string()
  .trim()
  .refine((text) => text === '' || email.safeParse(text).success, 'must be an e-mail address of at most 254 characters')
  .transform(nothing)
  .nullish()

function isWebAddress(text: string): boolean {
  // The URL parser silently fixes malformed input; reject such input instead.
  // oxlint-disable-next-line no-control-regex -- control characters are intended here
  if (!/^https?:\/\/[^\s\\\u0000-\u001f\u007f]+$/i.test(text) || !URL.canParse(text)) return false
  const { hostname, username, password } = new URL(text)
  return hostname !== '' && !username && !password
}
