import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import type { Bucket } from './bucket.ts'
import { isMissing, isPrecondition, isUnsupported } from './errors.ts'

/** The id in a marker, which says whose a store is; null without one. What is no id any more is given as it is: it fits nobody. */
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
 * Writes a marker. One that is there stays, unless `replace` says otherwise.
 * @returns the id that is in it then: another instance may have been faster.
 */
export async function writeMarker(bucket: Bucket, key: string, id: string, { replace }: { replace: boolean }): Promise<string> {
  if (replace) await put(bucket, key, id, {})
  else await putFirst(bucket, key, id)
  return (await readMarker(bucket, key)) ?? id
}

async function putFirst(bucket: Bucket, key: string, id: string): Promise<void> {
  if (bucket.lacks.conditionalWrites) {
    // Instances of one database write the same id: which of them was first does not matter.
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
