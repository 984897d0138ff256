// By hand on purpose: @fastify/send serves files of a folder only, and range-parser knows neither `If-Range` nor that several parts may be
// answered with the whole.
import type { FastifyRequest } from 'fastify'

/** Inclusive positions of bytes. */
export type ByteRange = { start: number; end: number }

/**
 * The part of `size` bytes that a request asks for (RFC 9110 §14): null for all of them, also when several parts are wanted or
 * `If-Range` names another representation; `unsatisfiable` when there are no such bytes. `etag` must be strong.
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
