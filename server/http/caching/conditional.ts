import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'

/** `Cache-Control` of an answer that depends on who asks and that nobody may keep, the browser included. */
export const notStored = 'private, no-store'

/** Whether the client has this representation already (RFC 9110 §13.1.2): weak comparison, a list or `*`. */
export function isFresh(request: FastifyRequest, etag: string): boolean {
  const given = request.headers['if-none-match']
  if (given === undefined) return false
  return given.trim() === '*' || given.split(',').some((tag) => opaque(tag.trim()) === opaque(etag))
}

/** Whether the client would rather have this media type than JSON (RFC 9110 §12.5.1): it must be named, and weigh more. */
export function prefers(request: FastifyRequest, type: string): boolean {
  const accepted = request.headers.accept
  if (accepted === undefined) return false
  const types = new Map(accepted.toLowerCase().split(',').map(mediaRange))
  const json = types.get('application/json') ?? types.get('application/*') ?? 0
  return (types.get(type) ?? 0) > json
}

/** Ends an answer after its headers: for HEAD and 304. Without a stream, a HEAD route would claim that the length is zero. */
export function sendHeadersOnly(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return request.method === 'HEAD' ? reply.send(Readable.from([])) : reply.send()
}

const opaque = (etag: string) => etag.replace(/^W\//, '')

function mediaRange(text: string): [name: string, weight: number] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [name, weight === undefined ? 1 : Number(weight.slice(2))]
}
