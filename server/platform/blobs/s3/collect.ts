import { AbortMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import type { Bucket } from './bucket.ts'
import { codeOf, isUnsupported } from './errors.ts'
import { deleteObject, listObjects } from './objects.ts'

/** Deletes staged objects written before `before` and aborts multipart uploads started before then. Returns their number. */
export async function collectStaged(bucket: Bucket, before: Date): Promise<number> {
  let removed = 0
  for await (const { key, modifiedAt } of listObjects(bucket, bucket.keys.staging)) {
    if (modifiedAt >= before) continue
    await deleteObject(bucket, key)
    removed++
  }
  return removed + (await abortUploads(bucket, bucket.keys.staging, before))
}

/** Aborts multipart uploads to keys with this prefix that were started before `before`, or all if it is null. Returns their number. */
export async function abortUploads(bucket: Bucket, prefix: string, before: Date | null = null): Promise<number> {
  let aborted = 0
  for await (const { key, uploadId, initiatedAt } of listUploads(bucket, prefix)) {
    if (before !== null && initiatedAt >= before) continue
    await abortUpload(bucket, key, uploadId)
    aborted++
  }
  return aborted
}

type PendingUpload = { key: string; uploadId: string; initiatedAt: Date }

/** Lists unfinished multipart uploads. Services without this operation abort them automatically. */
async function* listUploads(bucket: Bucket, prefix: string): AsyncGenerator<PendingUpload> {
  let next: { KeyMarker?: string; UploadIdMarker?: string } = {}
  for (;;) {
    const request = new ListMultipartUploadsCommand({ Bucket: bucket.name, Prefix: prefix, ...next })
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

/** Aborts a multipart upload. Does nothing if it has already ended. */
async function abortUpload(bucket: Bucket, key: string, uploadId: string): Promise<void> {
  const request = new AbortMultipartUploadCommand({ Bucket: bucket.name, Key: key, UploadId: uploadId })
  await bucket.client.send(request, bucket.inTime()).catch((error: unknown) => {
    if (codeOf(error) !== 'NoSuchUpload') throw error
  })
}
