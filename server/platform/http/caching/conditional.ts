import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'

/** `Cache-Control` value for responses that depend on the caller and must not be stored by any cache, including the browser's. */
export const noStore = 'private, no-store'

/** Whether the client's cached copy is current according to `If-None-Match` (RFC 9110 §13.1.2). Uses weak comparison; supports lists and `*`. */
export function isFresh(request: FastifyRequest, etag: string): boolean {
  const given = request.headers['if-none-match']
  if (given === undefined) return false
  return given.trim() === '*' || given.split(',').some((tag) => opaque(tag.trim()) === opaque(etag))
}

/** Whether the client prefers this media type to JSON (RFC 9110 §12.5.1). `Accept` must name the type with a higher weight than JSON. */
export function prefers(request: FastifyRequest, type: string): boolean {
  const accepted = request.headers.accept
  if (accepted === undefined) return false
  const types = new Map(accepted.toLowerCase().split(',').map(mediaRange))
  const json = types.get('application/json') ?? types.get('application/*') ?? 0
  return (types.get(type) ?? 0) > json
}

/** Sends only the headers, for HEAD and 304. The empty stream prevents Fastify from setting `Content-Length: 0` on HEAD responses. */
export function sendHeadersOnly(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return request.method === 'HEAD' ? reply.send(Readable.from([])) : reply.send()
}

const opaque = (etag: string) => etag.replace(/^W\//, '')

function mediaRange(text: string): [name: string, weight: number] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [name, weight === undefined ? 1 : Number(weight.slice(2))]
}

// Written by hand because @fastify/send only serves files from a folder, and range-parser does not support `If-Range` or responding to multiple
// ranges with the whole representation.
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
