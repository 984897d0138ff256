import type { FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify'
import Negotiator from 'negotiator'
import { promisify } from 'node:util'
import { brotliCompress, constants, gunzip, gzip } from 'node:zlib'
import { turnEnd } from '../turn-end.ts'
import { isFresh, sendHeadersOnly } from './conditional.ts'

export type Encoding = 'br' | 'gzip'

/** Smaller bodies fit into one network packet without compression. */
const minBytes = 1024

/** Encodings in order of preference. Brotli uses quality 4: its default of 11 would take longer than the rest of the response. */
const compress: Record<Encoding, (body: string | Buffer) => Promise<Buffer>> = {
  br: (body) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: promisify<string | Buffer, Buffer>(gzip),
}
const brotli = promisify(brotliCompress)

/** Returns the best encoding that the client accepts (RFC 9110 §12.5.3), or null. */
export function acceptedEncoding(request: FastifyRequest, offered: readonly Encoding[] = ['br', 'gzip']): Encoding | null {
  const accepted = request.headers['accept-encoding']
  if (accepted === undefined) return null
  // Fast path: package clients send exactly this value.
  if (accepted === 'gzip' && offered.includes(accepted)) return accepted
  const choices = [...offered, 'identity']
  const [best] = new Negotiator(request).encodings(choices, { preferred: choices })
  return offered.find((encoding) => encoding === best) ?? null
}

type Exchange = { request: FastifyRequest; reply: FastifyReply }

/** Sends compressed content as it is to clients that accept it, and uncompressed to others. */
export async function sendGzipped({ request, reply }: Exchange, gzipped: Buffer): Promise<unknown> {
  if (acceptedEncoding(request, ['gzip'])) return reply.header('content-encoding', 'gzip').send(gzipped)
  return reply.send(await decompress(gzipped))
}
const decompress = promisify<Buffer, Buffer>(gunzip)

/** Sends compressed content that depends on the caller, with its ETag, or 304 to clients that have it. */
export async function sendValidated(
  { request, reply }: Exchange,
  { etag, gzipped }: { etag: string; gzipped: Buffer },
  { type, cacheControl }: { type: string; cacheControl: string },
): Promise<unknown> {
  await turnEnd()
  reply.header('etag', etag).header('cache-control', cacheControl).header('vary', 'accept-encoding, authorization, cookie')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  reply.type(type)
  return sendGzipped({ request, reply }, gzipped)
}

/** Route hook that compresses response bodies of 1 KB or more, except those marked by `neverCompress`. Streams are sent unchanged. */
export const compressText: onSendAsyncHookHandler = async (request, reply, body) => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return body
  reply.header('vary', [reply.getHeader('vary'), 'accept-encoding'].flat().filter(Boolean).join(', '))
  if (Buffer.byteLength(body) < minBytes || uncompressed.has(reply)) return body
  const encoding = acceptedEncoding(request)
  if (!encoding) return body
  reply.header('content-encoding', encoding).removeHeader('content-length')
  return compress[encoding](body)
}

/** Disables compression for a response that contains a secret: its length could reveal whether text from an attacker matches the secret (BREACH). */
export const neverCompress = (reply: FastifyReply): void => void uncompressed.add(reply)
const uncompressed = new WeakSet<FastifyReply>()

/** Returns the uncompressed size that the last bytes of gzip content state. */
export const unpackedBytes = (packed: Uint8Array | null): number =>
  packed && packed.length >= 4 ? new DataView(packed.buffer, packed.byteOffset).getUint32(packed.length - 4, true) : 0
