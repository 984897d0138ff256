import { invalidInput } from '../errors.ts'

/**
 * Refuses the character NUL in arguments: PostgreSQL keeps no text with it, and nothing that people name has one.
 * @throws ApiError InvalidInput that names the field.
 */
export function refuseNul(value: unknown, path: string[] = []): void {
  if (typeof value === 'string') {
    if (!value.includes('\0')) return
    const field = path.filter((part) => part !== 'input').join('.')
    throw invalidInput(`${field}: must not contain the character NUL.`, field)
  }
  if (typeof value !== 'object' || value === null || value instanceof Date) return
  for (const [key, part] of Object.entries(value)) refuseNul(part, [...path, key])
}
