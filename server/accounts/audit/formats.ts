import { columns, type Format } from './export.ts'

/** CSV for spreadsheets (RFC 4180). */
export const csv: Format = {
  type: 'text/csv',
  parameters: '; charset=utf-8; header=present',
  extension: 'csv',
  head: record(columns),
  line: (row) => record(columns.map((column) => row[column] ?? '')),
}

/** Newline-delimited JSON for programs. */
export const ndjson: Format = {
  type: 'application/x-ndjson',
  parameters: '; charset=utf-8',
  extension: 'ndjson',
  head: '',
  line: (row) => `${JSON.stringify(row)}\n`,
}

function record(cells: readonly string[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

/**
 * Quotes a cell as RFC 4180 requires. Cells that a spreadsheet would interpret as formulas are prefixed with an apostrophe (OWASP, "CSV
 * Injection").
 */
export function cell(text: string): string {
  const harmless = /^(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20])/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
