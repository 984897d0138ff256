import { z } from 'zod'

/** An e-mail address, trimmed, at most 254 characters (RFC 5321). Case is preserved. */
export const email = z.string().trim().max(254, 'must be at most 254 characters long').pipe(z.email('must be an e-mail address'))

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

/** Returns the normalized form of an e-mail address, by which addresses are unique. */
export const emailKey = (address: string): string => address.trim().toLowerCase()
