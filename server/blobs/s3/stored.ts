import { GetObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { hashOf } from '../measured.ts'
import { isHash, storedAt } from '../names.ts'
import { type BlobStore, DamagedBytes } from '../store.ts'
import type { Verifier } from '../verified-reads.ts'
import type { Bucket } from './bucket.ts'
import { isPrecondition, reported } from './errors.ts'
import { factsOf, findFacts, listObjects, type ObjectFacts, streamObject } from './objects.ts'

/** How stored bytes are read: compared with their address. */
export function readsOf(bucket: Bucket, verifier: Verifier): Pick<BlobStore, 'open' | 'read' | 'hash' | 'has' | 'list' | 'link' | 'place'> {
  const keyOf = bucket.keys.blob
  return {
    open: async (sha256, range) => reported(() => streamVerified(bucket, verifier, sha256, range)),
    async read(sha256) {
      const bytes = await reported(async () => buffer(await streamObject(bucket, await factsOf(bucket, keyOf(sha256)))))
      if (hash('sha256', bytes) !== sha256) throw new DamagedBytes(sha256)
      return bytes
    },
    async hash(sha256) {
      const found = await reported(async () => hashOf(await streamObject(bucket, await factsOf(bucket, keyOf(sha256)))))
      if (found !== sha256) verifier.forget(sha256)
      return found
    },
    place: async () => null,
    has: async (sha256) => reported(async () => (await findFacts(bucket, keyOf(sha256))) !== null),
    list: () => listStored(bucket),
    async link(sha256, { seconds, name, type }) {
      await reported(() => verify(bucket, verifier, sha256))
      const request = {
        Bucket: bucket.name,
        Key: keyOf(sha256),
        ResponseContentType: type,
        ResponseContentDisposition: `attachment; filename="${name}"`,
        // A cache would keep it for longer than the link holds.
        ResponseCacheControl: 'private, no-store',
      }
      // The service judges by its own clock whether a link still holds.
      const signingDate = new Date(Date.now() - bucket.aheadMs())
      return getSignedUrl(bucket.signer, new GetObjectCommand(request), { expiresIn: seconds, signingDate })
    },
  }
}

/**
 * Compares stored bytes with their address, unless this process has done so and they are the same. Where the service computed their SHA-256
 * itself, they need not be read.
 * @throws Error ENOENT; DamagedBytes.
 */
export async function verify(bucket: Bucket, verifier: Verifier, sha256: string): Promise<ObjectFacts> {
  const facts = await factsOf(bucket, bucket.keys.blob(sha256))
  await verifier.check(sha256, {
    identity: () => facts.etag,
    hash: async () => facts.sha256 ?? hashOf(await streamObject(bucket, facts)),
  })
  return facts
}

async function streamVerified(
  bucket: Bucket,
  verifier: Verifier,
  sha256: string,
  range?: { start: number; end: number },
): Promise<Readable> {
  for (let attempt = 1; ; attempt++) {
    const facts = await verify(bucket, verifier, sha256)
    try {
      return await streamObject(bucket, facts, range)
    } catch (error) {
      // Others were stored there since: they are verified in their turn.
      if (!isPrecondition(error) || attempt >= 3) throw error
    }
  }
}

/** The stored bytes; objects whose name is no whole hash are not ours. */
async function* listStored(bucket: Bucket): ReturnType<BlobStore['list']> & AsyncGenerator {
  for await (const { key, bytes, modifiedAt } of listObjects(bucket, bucket.keys.stored)) {
    const sha256 = key.slice(key.lastIndexOf('/') + 1)
    if (isHash(sha256) && key === `${bucket.keys.root}sha256/${storedAt(sha256)}`) yield { sha256, bytes, storedAt: modifiedAt }
  }
}
