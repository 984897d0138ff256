import { createHash } from 'node:crypto'
import { refusal, type S3Answer, type S3Call, type S3Sent } from './s3-call.ts'

/** Features of S3 services that the local one lacks. */
export type S3Features = {
  /** Whether `If-None-Match: *` is supported, rejected, or ignored. */
  conditionalWrites: 'kept' | 'unknown' | 'ignored'
  /** Whether checksums are verified, or requests that contain them are rejected. */
  checksums: 'compared' | 'refused'
  /** With `stale`, listings return their state from when this was set. */
  listings: 'current' | 'stale'
  /** Date header of every response, instead of the current time. */
  date?: string
  /** Unfinished multipart uploads. */
  uploads: Map<string, { key: string; initiated: Date }>
  /** Sets the modification time of an object, or the start time of an upload. */
  age(key: string, at: Date): void
  handle(call: S3Call, sent: S3Sent, forward: () => Promise<S3Answer>): Promise<S3Answer>
}

/** Adds conditional writes, checksum verification, upload listings and modification times to a service. */
export function openS3Features(upstream: (sent: S3Sent) => Promise<S3Answer>): S3Features {
  const ages = new Map<string, Date>()
  const earlier = new Map<string, S3Answer>()
  let last: Promise<unknown> = Promise.resolve()
  const features: S3Features = {
    conditionalWrites: 'kept',
    checksums: 'compared',
    listings: 'current',
    uploads: new Map(),
    age(key, at) {
      ages.set(key, at)
      for (const upload of features.uploads.values()) if (upload.key === key) upload.initiated = at
    },
    async handle(call, sent, forward) {
      const names = Object.keys(call.headers)
      if (features.checksums === 'refused' && names.some((name) => /^x-amz-(sdk-)?checksum/.test(name)))
        return refusal({ status: 400, code: 'InvalidArgument' })
      if (isDamaged(sent)) return refusal({ status: 400, code: 'BadDigest' })
      if (call.operation === 'ListMultipartUploads') return listUploads(features.uploads)
      if (call.headers['if-none-match'] && features.conditionalWrites === 'unknown') return refusal({ status: 501, code: 'NotImplemented' })
      // Writes run one at a time, so that their conditions hold until they are complete.
      if (!/^(Put|Copy)/.test(call.operation)) return aged(call, await forward())
      const turn = last.catch(() => {}).then(() => write(call, sent, forward))
      last = turn
      return turn
    },
  }
  async function write(call: S3Call, sent: S3Sent, forward: () => Promise<S3Answer>): Promise<S3Answer> {
    const isConditional = call.headers['if-none-match'] === '*' && features.conditionalWrites === 'kept'
    const path = sent.path.replace(/\?.*/, '')
    if (isConditional && (await upstream({ method: 'HEAD', path, headers: {}, body: Buffer.alloc(0) })).status === 200)
      return refusal({ status: 412, code: 'PreconditionFailed' })
    const answer = await forward()
    if (answer.status === 200) ages.delete(call.key)
    return answer
  }
  function aged(call: S3Call, answer: S3Answer): S3Answer {
    note(features.uploads, call, answer)
    const at = ages.get(call.key)
    if (call.operation === 'HeadObject' && at) return { ...answer, headers: { ...answer.headers, 'last-modified': at.toUTCString() } }
    if (call.operation !== 'ListObjectsV2') return answer
    const listing = `${call.query.get('prefix')} ${call.query.get('continuation-token')}`
    const seen = features.listings === 'stale' ? (earlier.get(listing) ?? answer) : withAges(answer, ages)
    earlier.set(listing, seen)
    return seen
  }
  return features
}

function withAges(answer: S3Answer, ages: Map<string, Date>): S3Answer {
  const text = String(answer.body).replace(
    /<Key>(.*?)<\/Key>(.*?)<LastModified>.*?<\/LastModified>/gs,
    (whole, key: string, between: string) => {
      const at = ages.get(key)
      return at ? `<Key>${key}</Key>${between}<LastModified>${at.toISOString()}</LastModified>` : whole
    },
  )
  const body = Buffer.from(text)
  return { ...answer, headers: { ...answer.headers, 'content-length': String(body.length) }, body }
}

/** Tracks multipart uploads that were started and finished. */
function note(uploads: S3Features['uploads'], { operation, key, query }: S3Call, { status, body }: S3Answer): void {
  if (status >= 300) return
  if (operation === 'CreateMultipartUpload') {
    const [, id] = /<UploadId>(.*?)<\/UploadId>/.exec(String(body)) ?? []
    if (id) uploads.set(id, { key, initiated: new Date() })
  }
  if (operation === 'CompleteMultipartUpload' || operation === 'AbortMultipartUpload') uploads.delete(query.get('uploadId') ?? '')
}

function listUploads(uploads: S3Features['uploads']): S3Answer {
  const entries = Array.from(
    uploads,
    ([id, { key, initiated }]) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
  )
  const body = Buffer.from(`<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${entries.join('')}</ListMultipartUploadsResult>`)
  return { status: 200, headers: { 'content-type': 'application/xml', 'content-length': String(body.length) }, body }
}

/** Reports whether a body does not match the SHA-256 in its headers. */
function isDamaged({ headers, body }: S3Sent): boolean {
  const said = headers['x-amz-checksum-sha256']
  return typeof said === 'string' && said !== createHash('sha256').update(body).digest('base64')
}
