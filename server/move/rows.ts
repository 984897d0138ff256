/** A column of a table that is moved: its name, and the name of its type in PostgreSQL. */
export type Column = { name: string; type: string }

/**
 * A row of SQLite as PostgreSQL writes it (COPY in text form, moments in UTC): the one form in which rows are sent, compared and hashed. Integers
 * come as bigint.
 * @throws Error for a value that does not fit its column, without telling it.
 */
export function canonicalRow(columns: readonly Column[], values: readonly unknown[]): string {
  return columns.map((column, index) => field(column, values[index])).join('\t')
}

function field({ name, type }: Column, value: unknown): string {
  if (value === null) return '\\N'
  const text = forms[type]?.(value)
  if (text === undefined) throw new Error(`the column ${name} (${type}) has a value that PostgreSQL cannot keep`)
  return text
}

/** How values of a type are written; undefined for what is none of it. */
const forms: Record<string, (value: unknown) => string | undefined> = {
  uuid: text,
  varchar: text,
  text,
  int2: whole,
  int4: whole,
  int8: whole,
  bool: (value) => (value === 1n ? 't' : value === 0n ? 'f' : undefined),
  timestamptz: moment,
  bytea: (value) => (Buffer.isBuffer(value) ? `\\\\x${value.toString('hex')}` : undefined),
}

function whole(value: unknown): string | undefined {
  return typeof value === 'bigint' ? String(value) : undefined
}

/** PostgreSQL takes no text with a zero character. */
function text(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.includes('\0')) return undefined
  return value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => escapes[character] ?? character)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' }

/** Milliseconds since 1970, as SQLite has them. */
function moment(value: unknown): string | undefined {
  const date = new Date(typeof value === 'bigint' ? Number(value) : Number.NaN)
  const year = date.getUTCFullYear()
  if (!(year >= 1)) return undefined
  // Years have four digits or more, and a fraction of a second has no zeros at its end.
  const [, rest = '', fraction = ''] = /-(\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})Z$/.exec(date.toISOString()) ?? []
  const digits = fraction.replace(/0+$/, '')
  return `${String(year).padStart(4, '0')}-${rest.replace('T', ' ')}${digits && `.${digits}`}+00`
}
