import { invalidInput } from '../errors.ts'

/**
 * Refuses texts in arguments that a database would not keep as they are: with the character NUL, which PostgreSQL does not take, or with half
 * a surrogate pair, which is no Unicode.
 * @throws ApiError InvalidInput that names the field.
 */
export function refuseUnkept(value: unknown, path: string[] = []): void {
  if (typeof value === 'string') {
    const field = path.filter((part) => part !== 'input').join('.')
    if (value.includes('\0')) throw invalidInput(`${field}: must not contain the character NUL.`, field)
    if (!value.isWellFormed()) throw invalidInput(`${field}: must be well-formed Unicode, without half of a surrogate pair.`, field)
    return
  }
  if (typeof value !== 'object' || value === null || value instanceof Date) return
  for (const [key, part] of Object.entries(value)) refuseUnkept(part, [...path, key])
}
