import { type FauxqsServer, startFauxqs } from 'fauxqs'
import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCall, refusal, type S3Answer, type S3Call, type S3Sent } from './s3-call.ts'
import { openS3Features, type S3Features } from './s3-features.ts'

/** Failure of a request. */
export type S3Fault =
  /** The service rejects the request. */
  | { status: number; code: string; headers?: Record<string, string> }
  /** `reset` closes the connection before the service receives the request, `lost` after the service has completed it. */
  | 'reset'
  | 'lost'
  /** The service never responds. */
  | 'silent'
  /** One byte of the request body is changed in transit. */
  | 'corrupt'
  /** The response body is closed or stalls after a number of bytes, or is delivered with a delay per chunk. */
  | { cutAfter: number }
  | { stopAfter: number }
  | { slowMs: number }

/** Bucket of an S3-compatible service behind an HTTP proxy that can inject failures. */
export type S3Bucket = AsyncDisposable & {
  /** Environment variables of a server that uses the bucket. */
  env: Record<string, string>
  /** All recorded calls. */
  calls: S3Call[]
  /** Returns the failure to inject into a call, or null. */
  fault: (call: S3Call) => S3Fault | null | Promise<S3Fault | null>
  features: S3Features
  /** Lists all keys. */
  keys(): Promise<string[]>
  /** Read and write objects directly, without the proxy. */
  read(key: string): Promise<Buffer>
  write(key: string, bytes: Buffer): Promise<void>
}

let service: Promise<FauxqsServer> | undefined
let buckets = 0

/** Creates an empty bucket. The service runs until the process exits. */
export async function s3Bucket(): Promise<S3Bucket> {
  service ??= startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
  const { port } = await service
  const name = `bucket-${process.pid}-${++buckets}`
  ;(await service).createBucket(name)
  const upstream = (sent: S3Sent) => ask(port, sent)
  const direct = (method: string, path: string, body: Buffer = Buffer.alloc(0)) =>
    upstream({ method, path: `/${name}/${path}`, headers: { 'content-length': String(body.length) }, body })
  const features = openS3Features(upstream)
  const bucket: Omit<S3Bucket, 'env' | typeof Symbol.asyncDispose> = {
    calls: [],
    fault: () => null,
    features,
    keys: async () => Array.from(String((await direct('GET', '?list-type=2')).body).matchAll(/<Key>(.*?)<\/Key>/g), ([, key = '']) => key),
    read: async (key) => (await direct('GET', key)).body,
    write: async (key, bytes) => void (await direct('PUT', key, bytes)),
  }
  const open = new Set<ServerResponse>()
  const proxy = createServer((request, response) => {
    open.add(response)
    void answer(bucket, upstream, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const env = {
    BLOB_BACKEND: 's3',
    S3_BUCKET: name,
    S3_ENDPOINT: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    S3_ACCESS_KEY_ID: 'key',
    S3_SECRET_ACCESS_KEY: 'a secret of the bucket',
    S3_FORCE_PATH_STYLE: 'true',
  }
  return Object.assign(bucket, {
    env,
    async [Symbol.asyncDispose]() {
      for (const response of open) response.destroy()
      proxy.closeAllConnections()
      await new Promise((resolve) => proxy.close(resolve))
    },
  })
}

async function answer(
  bucket: Pick<S3Bucket, 'calls' | 'fault' | 'features'>,
  upstream: (sent: S3Sent) => Promise<S3Answer>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url: path = '', headers } = request
  const call = readCall(method, path, headers)
  bucket.calls.push(call)
  const fault = await bucket.fault(call)
  const body = await buffer(request)
  if (fault === 'silent') return
  if (fault === 'reset') return void response.destroy()
  if (fault === 'corrupt') body.writeUInt8(body.readUInt8(body.length - 1) ^ 1, body.length - 1)
  const refused = typeof fault === 'object' && fault !== null && 'status' in fault ? refusal(fault) : null
  const sent = { method, path, headers: headers as S3Sent['headers'], body }
  const given = refused ?? (await bucket.features.handle(call, sent, () => upstream(sent)))
  if (fault === 'lost') return void response.destroy()
  const { date } = bucket.features
  response.writeHead(given.status, { ...given.headers, ...(date && { date }) })
  if (method === 'HEAD') return void response.end()
  if (typeof fault === 'object' && fault !== null && !('status' in fault)) return sendBadly(response, given.body, fault)
  response.end(given.body)
}

async function sendBadly(
  response: ServerResponse,
  body: Buffer,
  fault: { cutAfter: number } | { stopAfter: number } | { slowMs: number },
): Promise<void> {
  if ('slowMs' in fault) {
    for (let start = 0; start < body.length; start += 65_536) {
      response.write(body.subarray(start, start + 65_536))
      await sleep(fault.slowMs)
    }
    return void response.end()
  }
  response.write(body.subarray(0, 'cutAfter' in fault ? fault.cutAfter : fault.stopAfter))
  if ('stopAfter' in fault) return
  // Waits until the written bytes are sent.
  await sleep(20)
  response.destroy()
}

function ask(port: number, { method, path, headers, body }: S3Sent): Promise<S3Answer> {
  return new Promise((resolve, reject) => {
    const isEmpty = method === 'PUT' && body.length === 0 && !headers['x-amz-copy-source']
    const framing = isEmpty ? { 'content-encoding': 'aws-chunked', 'content-length': '5' } : {}
    const request = send({ host: '127.0.0.1', port, method, path, headers: { ...headers, ...framing } }, (response) => {
      buffer(response).then((received) => {
        const { 'transfer-encoding': _framing, connection: _connection, ...kept } = response.headers
        resolve({ status: response.statusCode ?? 0, headers: kept, body: received })
      }, reject)
    })
    request.on('error', reject)
    // The local service accepts an empty PUT body only in the aws-chunked encoding.
    request.end(isEmpty ? '0\r\n\r\n' : body)
  })
}
