import { invalidInput } from '../../errors.ts'

/**
 * Refuses arguments that the databases cannot keep as they are: PostgreSQL stores no NUL, and half a surrogate pair, which UTF-8 cannot encode,
 * would come back as another character.
 * @throws ApiError InvalidInput that names the field.
 */
export function refuseUnstorableText(value: unknown, path: string[] = []): void {
  if (typeof value === 'string') {
    const field = path.filter((part) => part !== 'input').join('.')
    if (value.includes('\0')) throw invalidInput(`${field}: must not contain the character NUL.`, field)
    if (!value.isWellFormed()) throw invalidInput(`${field}: must be well-formed Unicode, without unpaired surrogates.`, field)
  }
  if (typeof value !== 'object' || value === null || value instanceof Date) return
  for (const [key, part] of Object.entries(value)) refuseUnstorableText(part, [...path, key])
}
