/** Returns a statement with numbered parameters (`$1`), as PostgreSQL takes them. */
export function numbered(sql: string): string {
  let position = 0
  return sql.replaceAll('?', () => `$${++position}`)
}
