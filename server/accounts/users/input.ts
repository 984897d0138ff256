import { domainToASCII, domainToUnicode } from 'node:url'
import { z } from 'zod'

/** An e-mail address, trimmed, at most 254 characters (RFC 5321). Case is preserved. The host is `localhost` or a domain, also an internationalized one. */
export const email = z
  .string()
  .trim()
  .max(254, 'must be at most 254 characters long')
  .refine((text) => {
    const [local = '', host = '', ...others] = text.split('@')
    return others.length === 0 && localPart.test(local) && hostText.test(host) && asciiHost.test(domainToASCII(host))
  }, 'must be an e-mail address')

/** Words of letters, digits and the symbols that RFC 5322 allows without quotes, separated by dots; letters of all scripts (RFC 6531). */
const localPart = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const hostText = /^[\p{L}\p{M}\p{N}.-]+$/u
const asciiHost = /^(?:localhost|(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+(?!\d+$)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)$/

// oxlint-disable-next-line no-control-regex -- control characters are intended here
const noControl = /^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$/

/** Matches a visible character: not blank (including the Braille blank U+2800, which Unicode treats as a symbol) and not invisible by default. */
const visible = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]/u

/** A display name: one non-blank line without control or text direction characters. */
export const label = (maxLength: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(maxLength, `must be at most ${maxLength} characters long`)
    .regex(noControl, 'must not contain control characters')
    .regex(visible, 'must contain a visible character')

/** Display name of a user. */
export const displayName = label(100)

/** Validity of an invitation in hours. */
export const inviteHours = z.int().min(1, 'must be from 1 to 720').max(720, 'must be from 1 to 720').nullish()

/** Returns the normalized form of an e-mail address, by which addresses are unique. Internationalized domains have one form in all spellings. */
export function emailKey(address: string): string {
  const key = address.trim().toLowerCase().normalize('NFC')
  const at = key.lastIndexOf('@') + 1
  const host = key.slice(at)
  return at > 0 && hostText.test(host) ? key.slice(0, at) + (domainToUnicode(host) || host) : key
}
