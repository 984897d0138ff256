import { invalidInput } from '../errors.ts'

/**
 * The password as it is hashed, when it keeps the rules: NFC-normalised, `minLength` characters or more, at most 72 bytes
 * (bcrypt reads no further), not among the most common ones, not the person's own e-mail address or name.
 * @throws ApiError InvalidInput with `field`.
 */
export async function acceptPassword(
  given: string,
  person: { email: string; displayName: string },
  minLength: number,
  field = 'password',
): Promise<string> {
  const password = given.normalize('NFC')
  if (Array.from(password).length < minLength) throw invalidInput(`${field}: must be at least ${minLength} characters long.`, field)
  if (Buffer.byteLength(password) > 72) throw invalidInput(`${field}: must be at most 72 bytes long.`, field)
  const folded = password.toLowerCase()
  if ((await commonPasswords()).has(folded)) throw invalidInput(`${field}: is one of the most common passwords. Choose another.`, field)
  const own = [person.email, person.email.split('@', 1)[0], person.displayName].map((name) => name?.normalize('NFC').toLowerCase())
  if (own.includes(folded)) throw invalidInput(`${field}: must not be your e-mail address or name.`, field)
  return password
}

/** The 3,000 most common passwords, loaded when the first password is chosen. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return (common ??= new Set(dictionary['passwords-common'].slice(0, 3000).map(String)))
}
let common: Set<string> | undefined
