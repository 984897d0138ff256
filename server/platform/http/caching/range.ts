// Written by hand because @fastify/send only serves files from a folder, and range-parser does not support `If-Range` or responding to multiple
// ranges with the whole representation.
import type { FastifyRequest } from 'fastify'

/** Byte range; both ends are inclusive. */
export type ByteRange = { start: number; end: number }

/**
 * Returns the byte range that a request asks for (RFC 9110 §14), or null for the whole representation, also if it asks for multiple ranges or
 * `If-Range` does not match. Returns `unsatisfiable` if the range is outside of the `size` bytes. `etag` must be strong.
 */
export function requestedRange(request: FastifyRequest, size: number, etag: string): ByteRange | 'unsatisfiable' | null {
  const { range } = request.headers
  const condition = request.headers['if-range']
  if (range === undefined || request.method !== 'GET' || (condition !== undefined && condition !== etag)) return null
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? []
  if (first === '' && last === '') return null
  if (first !== '' && last !== '' && Number(first) > Number(last)) return null
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  return start > end || (first === '' && Number(last) === 0) ? 'unsatisfiable' : { start, end }
}
