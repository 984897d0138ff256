import { GetObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { hashOf } from '../measured.ts'
import { type BlobStore, DamagedBytes, isHash, storedAt } from '../store.ts'
import type { Verifier } from '../verified-reads.ts'
import type { Bucket } from './bucket.ts'
import { isPrecondition, reported } from './errors.ts'
import { readFacts, findFacts, listObjects, type ObjectFacts, streamObject } from './objects.ts'

/** Returns the read operations, which verify the content against its hash. */
export function storeReads(
  bucket: Bucket,
  verifier: Verifier,
): Pick<BlobStore, 'open' | 'read' | 'hash' | 'has' | 'list' | 'link' | 'place'> {
  const keyOf = bucket.keys.blob
  return {
    open: async (sha256, range) => reported(() => streamVerified(bucket, verifier, sha256, range)),
    async read(sha256) {
      const bytes = await reported(async () => buffer(await streamObject(bucket, await readFacts(bucket, keyOf(sha256)))))
      if (hash('sha256', bytes) !== sha256) throw new DamagedBytes(sha256)
      return bytes
    },
    async hash(sha256) {
      const found = await reported(async () => hashOf(await streamObject(bucket, await readFacts(bucket, keyOf(sha256)))))
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
        // A cached response would outlive the link.
        ResponseCacheControl: 'private, no-store',
      }
      // The service checks the expiry of a link against its own clock.
      const signingDate = new Date(Date.now() - bucket.aheadMs())
      return getSignedUrl(bucket.signer, new GetObjectCommand(request), { expiresIn: seconds, signingDate })
    },
  }
}

/**
 * Verifies stored bytes against their hash, unless this process has already verified them. If the service computed the SHA-256 itself, the bytes are
 * not read.
 * @throws Error ENOENT if they do not exist.
 * @throws DamagedBytes if they do not match.
 */
export async function verify(bucket: Bucket, verifier: Verifier, sha256: string): Promise<ObjectFacts> {
  const facts = await readFacts(bucket, bucket.keys.blob(sha256))
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
      // The object was replaced in the meantime. Verify the new one.
      if (!isPrecondition(error) || attempt >= 3) throw error
    }
  }
}

/** Lists the stored objects. Objects whose name is not a SHA-256 are ignored. */
async function* listStored(bucket: Bucket): ReturnType<BlobStore['list']> & AsyncGenerator {
  for await (const { key, bytes, modifiedAt } of listObjects(bucket, bucket.keys.stored)) {
    const sha256 = key.slice(key.lastIndexOf('/') + 1)
    if (isHash(sha256) && key === `${bucket.keys.root}sha256/${storedAt(sha256)}`) yield { sha256, bytes, storedAt: modifiedAt }
  }
}
