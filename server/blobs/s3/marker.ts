import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import type { Bucket } from './bucket.ts'
import { isMissing, isPrecondition, isUnsupported } from './errors.ts'

/** The id in the marker of a store; null without one. What is no id any more is given as it is: it fits no database. */
export async function readMarker(bucket: Bucket): Promise<string | null> {
  try {
    const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key: bucket.keys.marker }), bucket.inTime())
    return (await Body?.transformToString())?.trim() ?? ''
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/**
 * Writes the marker. One that is there stays, unless `replace` says otherwise.
 * @returns the id that is in it then: another instance may have been faster.
 */
export async function writeMarker(bucket: Bucket, id: string, replace: boolean): Promise<string> {
  if (replace) await put(bucket, id, {})
  else await putFirst(bucket, id)
  return (await readMarker(bucket)) ?? id
}

async function putFirst(bucket: Bucket, id: string): Promise<void> {
  if (bucket.lacks.conditionalWrites) {
    // Instances of one database write the same id: which of them was first does not matter.
    if ((await readMarker(bucket)) === null) await put(bucket, id, {})
    return
  }
  try {
    await put(bucket, id, { IfNoneMatch: '*' })
  } catch (error) {
    if (isPrecondition(error)) return
    if (!isUnsupported(error)) throw error
    bucket.lacks.conditionalWrites = true
    await putFirst(bucket, id)
  }
}

async function put(bucket: Bucket, id: string, condition: { IfNoneMatch?: string }): Promise<void> {
  const request = {
    Bucket: bucket.name,
    Key: bucket.keys.marker,
    Body: Buffer.from(`${id}\n`),
    ChecksumAlgorithm: 'SHA256',
    ...condition,
  } as const
  await bucket.client.send(new PutObjectCommand(request), bucket.inTime())
}
