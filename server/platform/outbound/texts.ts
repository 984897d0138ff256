/** Returns a text of another server for a message: one line of limited length, which the database can store. */
export const shown = (text: string, maxLength = 200): string =>
  text
    .slice(0, maxLength)
    .toWellFormed()
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')

/** Returns whether the database can store all texts in a JSON value. PostgreSQL stores neither U+0000 nor unpaired surrogates. */
export function isStorable(value: unknown): boolean {
  // Grows while it is read. Calls could not be nested as deeply as JSON.
  const values = [value]
  for (const one of values) {
    if (typeof one === 'string' && (!one.isWellFormed() || one.includes('\0'))) return false
    if (typeof one === 'object' && one !== null) for (const entry of Object.entries(one)) values.push(...entry)
  }
  return true
}
