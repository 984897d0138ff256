import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import type { Bucket } from './bucket.ts'
import { isMissing, isPrecondition, isUnsupported } from './errors.ts'

/**
 * Returns the id in the marker object that identifies the owner of a store, or null if there is no such object. An invalid id is returned unchanged;
 * it matches no owner.
 */
export async function readMarker(bucket: Bucket, key: string): Promise<string | null> {
  try {
    const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key: key }), bucket.inTime())
    return (await Body?.transformToString())?.trim() ?? ''
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/**
 * Writes a marker object. Keeps an existing one unless `replace` is set.
 * @returns the id in the marker, which another instance may have written first.
 */
export async function writeMarker(bucket: Bucket, key: string, id: string, { replace }: { replace: boolean }): Promise<string> {
  if (replace) await put(bucket, key, id, {})
  else await putFirst(bucket, key, id)
  return (await readMarker(bucket, key)) ?? id
}

async function putFirst(bucket: Bucket, key: string, id: string): Promise<void> {
  if (bucket.lacks.conditionalWrites) {
    // Instances that share a database write the same id, so a race between them is harmless.
    if ((await readMarker(bucket, key)) === null) await put(bucket, key, id, {})
    return
  }
  try {
    await put(bucket, key, id, { IfNoneMatch: '*' })
  } catch (error) {
    if (isPrecondition(error)) return
    if (!isUnsupported(error)) throw error
    bucket.lacks.conditionalWrites = true
    await putFirst(bucket, key, id)
  }
}

async function put(bucket: Bucket, key: string, id: string, condition: { IfNoneMatch?: string }): Promise<void> {
  const request = {
    Bucket: bucket.name,
    Key: key,
    Body: Buffer.from(`${id}\n`),
    ChecksumAlgorithm: 'SHA256',
    ...condition,
  } as const
  await bucket.client.send(new PutObjectCommand(request), bucket.inTime())
}
