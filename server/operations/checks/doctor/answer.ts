import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { bodyTooLarge, unknownAddress } from '../../../errors.ts'
import { acceptBytes } from '../../../platform/http/bodies.ts'
import { parseAddress, proxyTrust } from '../../../platform/http/client-address.ts'
import { derive, equalSecrets, hmac } from '../../../platform/http/keys.ts'
import { basePath } from '../../../platform/http/public-url.ts'
import type { Services } from '../../../services.ts'
import { readStoreId } from '../../../platform/store/identity.ts'

/** Path of the server's doctor endpoint, below the path of SERVER_URL. */
export const doctorPath = '/api/v1/doctor'
/** Request header: `<nonce>.<proof that the sender knows the database id>`. */
export const doctorHeader = 'x-snug-doctor'
/** Size of the request body that tests whether a proxy allows uploads, in bytes. */
export const sampleBytes = 5_000_000

/** The doctor's request as seen by the server. */
export type Arrival = z.infer<typeof arrival>
export const arrival = z.object({
  /** Proof that the server also knows the database id. */
  proof: z.string(),
  /** Address of the connected peer: the last proxy, if there is one. */
  peer: z.string(),
  /** Port of the server at which the connection arrived. */
  port: z.number(),
  /** Whether the server's TRUST_PROXY includes the peer. */
  isTrusted: z.boolean(),
  /** Whether the request had an X-Forwarded-For header. */
  isForwarded: z.boolean(),
  bytes: z.number(),
})

/** Returns the proofs of both sides: HMACs with a key derived from the database id, which is never sent itself. */
export function proofsFor(storeId: string, nonce: string): Record<'question' | 'answer', string> {
  const key = derive(storeId, 'doctor')
  return { question: hmac(key, `question ${nonce}`), answer: hmac(key, `answer ${nonce}`) }
}

/**
 * Registers an endpoint that reports to the doctor how its request arrived. The doctor authenticates by knowing the database
 * id. Others get 404, so that they learn no proxy addresses and cannot send large bodies.
 */
export function mountDoctor(app: FastifyInstance, services: Services): void {
  const { isProxy } = proxyTrust(services.config.TRUST_PROXY)
  let id: string | null = null
  void app.register(async (scope) => {
    await acceptBytes(scope)
    scope.addHook('onRequest', async (request) => {
      const given = wellFormed.exec(String(request.headers[doctorHeader]))
      if (given) id ??= await readStoreId(services.database.fork())
      if (given && id !== null && equalSecrets(given[2] ?? '', proofsFor(id, given[1] ?? '').question)) return
      throw unknownAddress(services.config.SERVER_URL)
    })
    scope.post(basePath(services.config.SERVER_URL) + doctorPath, async (request, reply) => {
      const [nonce = ''] = String(request.headers[doctorHeader]).split('.')
      const bytes = await countBody(request)
      const peer = parseAddress(request.socket.remoteAddress ?? '')
      const answer: Arrival = {
        proof: proofsFor(id ?? '', nonce).answer,
        peer: peer?.toString() ?? '',
        port: request.socket.localPort ?? 0,
        isTrusted: peer !== null && isProxy(peer),
        isForwarded: request.headers['x-forwarded-for'] !== undefined,
        bytes,
      }
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
    })
  })
}

const wellFormed = /^([\w-]{43})\.([0-9a-f]{64})$/

/** Counts the bytes of the body. Throws an ApiError if the body is larger than the doctor's, without reading it all. */
async function countBody(request: FastifyRequest): Promise<number> {
  const announced = Number(request.headers['content-length'] ?? 0)
  let bytes = 0
  if (announced <= sampleBytes)
    // Keeps the connection open for the response.
    for await (const chunk of request.raw.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length
      if (bytes > sampleBytes) break
    }
  if (Math.max(announced, bytes) > sampleBytes) throw bodyTooLarge(sampleBytes)
  return bytes
}
