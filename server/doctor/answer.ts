import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { bodyTooLarge, unknownAddress } from '../errors.ts'
import { acceptBytes } from '../http/bodies/bodies.ts'
import { parseAddress, proxyTrust } from '../http/client-address.ts'
import { derive, equalSecrets, hmac } from '../http/keys.ts'
import { basePath } from '../http/public-url.ts'
import type { Services } from '../services.ts'
import { idOfDatabase } from '../store/identity.ts'

/** Where a server answers the doctor, below the path of SERVER_URL. */
export const doctorPath = '/api/v1/doctor'
/** `<nonce>.<proof that the sender knows the id of the database>`. */
export const doctorHeader = 'x-snug-doctor'
/** The size of the request that shows whether a proxy lets uploads through. */
export const sampleBytes = 5_000_000

/** How a request of the doctor looked from the server. */
export type Arrival = z.infer<typeof arrival>
export const arrival = z.object({
  /** That the server knows the id of the database, too. */
  proof: z.string(),
  /** The other end of the connection: the last proxy, if there is one. */
  peer: z.string(),
  /** Whether TRUST_PROXY of the server names the peer. */
  isTrusted: z.boolean(),
  /** Whether there was an X-Forwarded-For. */
  isForwarded: z.boolean(),
  bytes: z.number(),
})

/** Proofs of either side, made with a key that is derived from the id of the database: the id itself is never sent. */
export function proofsFor(databaseId: string, nonce: string): Record<'question' | 'answer', string> {
  const key = derive(databaseId, 'doctor')
  return { question: hmac(key, `question ${nonce}`), answer: hmac(key, `answer ${nonce}`) }
}

/**
 * Answers the doctor, which runs next to the database and so knows its id, how its request arrived. For everyone else nothing is there: neither
 * the addresses of proxies nor a place for large bodies.
 */
export function answerDoctor(app: FastifyInstance, services: Services): void {
  const { isProxy } = proxyTrust(services.config.TRUST_PROXY)
  let id: string | null = null
  void app.register(async (scope) => {
    await acceptBytes(scope)
    scope.addHook('onRequest', async (request) => {
      const given = wellFormed.exec(String(request.headers[doctorHeader]))
      if (given) id ??= await idOfDatabase(services.database.fork())
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
        isTrusted: peer !== null && isProxy(peer),
        isForwarded: request.headers['x-forwarded-for'] !== undefined,
        bytes,
      }
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
    })
  })
}

const wellFormed = /^([\w-]{43})\.([0-9a-f]{64})$/

/** How many bytes the body has. @throws ApiError for more than the doctor sends, without reading them. */
async function countBody(request: FastifyRequest): Promise<number> {
  const announced = Number(request.headers['content-length'] ?? 0)
  let bytes = 0
  if (announced <= sampleBytes)
    // The connection stays, for the answer.
    for await (const chunk of request.raw.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length
      if (bytes > sampleBytes) break
    }
  if (Math.max(announced, bytes) > sampleBytes) throw bodyTooLarge(sampleBytes)
  return bytes
}
