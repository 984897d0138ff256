/** A column of a moved table: its name and its PostgreSQL type name. */
export type Column = { name: string; type: string }

/**
 * Formats a row of SQLite in PostgreSQL's COPY text format with timestamps in UTC. Rows are sent, compared and hashed in this canonical form.
 * Integers must be given as bigint.
 * @throws Error for a value that does not fit its column. The message does not contain the value.
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

/** Formats a value of each type. Returns undefined for a value that is not valid for the type. */
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

/** Rejects texts with NUL characters, which PostgreSQL does not support. */
function text(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.includes('\0')) return undefined
  return value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => escapes[character] ?? character)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' }

/** Formats a timestamp given in milliseconds since 1970. */
function moment(value: unknown): string | undefined {
  const date = new Date(typeof value === 'bigint' ? Number(value) : Number.NaN)
  const year = date.getUTCFullYear()
  if (!(year >= 1)) return undefined
  // PostgreSQL pads years to at least four digits and omits trailing zeros of fractional seconds.
  const [, rest = '', fraction = ''] = /-(\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})Z$/.exec(date.toISOString()) ?? []
  const digits = fraction.replace(/0+$/, '')
  return `${String(year).padStart(4, '0')}-${rest.replace('T', ' ')}${digits && `.${digits}`}+00`
}
