/** Returns a statement with PostgreSQL's numbered parameters (`$1`) in place of `?`. */
export function numbered(sql: string): string {
  let position = 0
  return sql.replaceAll('?', () => `$${++position}`)
}
