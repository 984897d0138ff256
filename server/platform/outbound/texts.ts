/** Returns a text of another server for a message: one line of limited length, which the database can store. */
export const shown = (text: string, maxLength = 200): string =>
  text
    .slice(0, maxLength)
    .toWellFormed()
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')

/** Returns whether the database can store all texts in a JSON value. PostgreSQL stores neither U+0000 nor unpaired surrogates. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  return typeof value !== 'object' || value === null || Object.entries(value).flat().every(isStorable)
}
