import { AbortMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import type { Bucket } from './bucket.ts'
import { codeOf, isUnsupported } from './errors.ts'
import { deleteObject, listObjects } from './objects.ts'

/** Removes staged bytes that were written before `before`, and ends uploads in parts that were begun before; gives their number. */
export async function collectStaged(bucket: Bucket, before: Date): Promise<number> {
  let removed = 0
  for await (const { key, modifiedAt } of listObjects(bucket, bucket.keys.staging)) {
    if (modifiedAt >= before) continue
    await deleteObject(bucket, key)
    removed++
  }
  for await (const { key, uploadId, initiatedAt } of listUploads(bucket)) {
    if (initiatedAt >= before) continue
    await abortUpload(bucket, key, uploadId)
    removed++
  }
  return removed
}

type PendingUpload = { key: string; uploadId: string; initiatedAt: Date }

/** Uploads in parts that nobody has ended. Services that do not list them end them by themselves. */
async function* listUploads(bucket: Bucket): AsyncGenerator<PendingUpload> {
  let next: { KeyMarker?: string; UploadIdMarker?: string } = {}
  for (;;) {
    const request = new ListMultipartUploadsCommand({ Bucket: bucket.name, Prefix: bucket.keys.staging, ...next })
    const page = await bucket.client.send(request, bucket.inTime()).catch((error: unknown) => {
      if (isUnsupported(error)) return null
      throw error
    })
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? [])
      if (Key && UploadId && Initiated) yield { key: Key, uploadId: UploadId, initiatedAt: Initiated }
    if (!page?.IsTruncated || !page.NextKeyMarker) return
    next = { KeyMarker: page.NextKeyMarker, ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }) }
  }
}

/** Nothing happens to one that has ended meanwhile. */
async function abortUpload(bucket: Bucket, key: string, uploadId: string): Promise<void> {
  const request = new AbortMultipartUploadCommand({ Bucket: bucket.name, Key: key, UploadId: uploadId })
  await bucket.client.send(request, bucket.inTime()).catch((error: unknown) => {
    if (codeOf(error) !== 'NoSuchUpload') throw error
  })
}
