import type { FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify'
import Negotiator from 'negotiator'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Encoding = 'br' | 'gzip'

/** Less than this fits into one packet anyway. */
const minBytes = 1024

/** In the order in which we would rather send them. Brotli's own default would take longer than the rest of the answer. */
const compress: Record<Encoding, (body: string | Buffer) => Promise<Buffer>> = {
  br: (body) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: promisify<string | Buffer, Buffer>(gzip),
}
const brotli = promisify(brotliCompress)

/** The best of these encodings that the client accepts (RFC 9110 §12.5.3), or null for none. */
export function acceptedEncoding(request: FastifyRequest, offered: readonly Encoding[] = ['br', 'gzip']): Encoding | null {
  const accepted = request.headers['accept-encoding']
  if (accepted === undefined) return null
  // What package clients send, and by far the most usual.
  if (accepted === 'gzip' && offered.includes(accepted)) return accepted
  const choices = [...offered, 'identity']
  const [best] = new Negotiator(request).encodings(choices, { preferred: choices })
  return offered.find((encoding) => encoding === best) ?? null
}

/** Compresses text that an endpoint sends whole, from 1 KB on, unless it was marked by `neverCompress`. A hook for routes. */
export const compressText: onSendAsyncHookHandler = async (request, reply, body) => {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return body
  reply.header('vary', [reply.getHeader('vary'), 'accept-encoding'].flat().filter(Boolean).join(', '))
  if (Buffer.byteLength(body) < minBytes || sentPlain.has(reply)) return body
  const encoding = acceptedEncoding(request)
  if (!encoding) return body
  reply.header('content-encoding', encoding).removeHeader('content-length')
  return compress[encoding](body)
}

/**
 * Has this answer sent as it is: for one that gives out a secret. Where a secret and words that the caller chose are compressed together, the
 * length tells whether they are alike, and so, with enough tries, the secret (BREACH).
 */
export const neverCompress = (reply: FastifyReply): void => void sentPlain.add(reply)
const sentPlain = new WeakSet<FastifyReply>()
