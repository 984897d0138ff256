import type { IncomingHttpHeaders } from 'node:http'

/** S3 request, with the operation name of the S3 API. */
export type S3Call = { operation: string; key: string; query: URLSearchParams; headers: IncomingHttpHeaders }

type Headers = Record<string, string | string[] | undefined>
export type S3Answer = { status: number; headers: Headers; body: Buffer }
export type S3Sent = { method: string; path: string; headers: Headers; body: Buffer }

/** Returns the S3 call of a request with a path-style URL. */
export function readCall(method: string, url: string, headers: IncomingHttpHeaders): S3Call {
  const { pathname, searchParams: query } = new URL(url, 'http://localhost')
  const key = decodeURIComponent(pathname.split('/').slice(2).join('/'))
  return { operation: operationOf(method, key, query, headers), key, query, headers }
}

function operationOf(method: string, key: string, query: URLSearchParams, headers: IncomingHttpHeaders): string {
  const inParts: Record<string, string> = { PUT: 'UploadPart', POST: 'CompleteMultipartUpload', DELETE: 'AbortMultipartUpload' }
  if (query.has('uploads')) return method === 'POST' ? 'CreateMultipartUpload' : 'ListMultipartUploads'
  if (query.has('uploadId')) return inParts[method] ?? method
  if (method === 'GET') return key ? 'GetObject' : 'ListObjectsV2'
  if (method === 'PUT') return headers['x-amz-copy-source'] ? 'CopyObject' : 'PutObject'
  return { HEAD: key ? 'HeadObject' : 'HeadBucket', DELETE: 'DeleteObject' }[method] ?? method
}

/** Returns an error response in S3 format. */
export function refusal({ status, code, headers = {} }: { status: number; code: string; headers?: Record<string, string> }): S3Answer {
  const body = Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>A fault of the test</Message></Error>`,
  )
  return { status, headers: { 'content-type': 'application/xml', 'content-length': String(body.length), ...headers }, body }
}
