import { type FauxqsServer, startFauxqs } from 'fauxqs'
import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { readCall, refusal, type S3Answer, type S3Call, type S3Sent } from './s3-call.ts'
import { openS3Features, type S3Features } from './s3-features.ts'

/** What becomes of a call instead of its answer. */
export type S3Fault =
  /** The service refuses it. */
  | { status: number; code: string; headers?: Record<string, string> }
  /** The connection ends before the service has seen it, or after it did as it was asked. */
  | 'reset'
  | 'lost'
  /** There is never an answer. */
  | 'silent'
  /** A byte of what is sent arrives as another one. */
  | 'corrupt'
  /** The answer is right, but its body breaks off, or stops coming, after so many bytes; or comes so slowly. */
  | { cutAfter: number }
  | { stopAfter: number }
  | { slowMs: number }

/** A bucket of an S3-compatible service, reached over HTTP through a proxy that can fail. */
export type S3Bucket = AsyncDisposable & {
  /** The variables that name it. */
  env: Record<string, string>
  /** Every call so far. */
  calls: S3Call[]
  /** Says what goes wrong with a call, if anything. */
  fault: (call: S3Call) => S3Fault | null | Promise<S3Fault | null>
  features: S3Features
  /** The keys of everything in it. */
  keys(): Promise<string[]>
  /** Reads and writes an object beside the proxy. */
  read(key: string): Promise<Buffer>
  write(key: string, bytes: Buffer): Promise<void>
}

let service: Promise<FauxqsServer> | undefined
let buckets = 0

/** Makes an empty bucket; the service itself lives as long as the process. */
export async function s3Bucket(): Promise<S3Bucket> {
  service ??= startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
  const { port } = await service
  const name = `bucket-${process.pid}-${++buckets}`
  ;(await service).createBucket(name)
  const upstream = (sent: S3Sent) => ask(port, sent)
  const beside = (method: string, path: string, body: Buffer = Buffer.alloc(0)) =>
    upstream({ method, path: `/${name}/${path}`, headers: { 'content-length': String(body.length) }, body })
  const features = openS3Features(upstream)
  const bucket: Omit<S3Bucket, 'env' | typeof Symbol.asyncDispose> = {
    calls: [],
    fault: () => null,
    features,
    keys: async () => Array.from(String((await beside('GET', '?list-type=2')).body).matchAll(/<Key>(.*?)<\/Key>/g), ([, key = '']) => key),
    read: async (key) => (await beside('GET', key)).body,
    write: async (key, bytes) => void (await beside('PUT', key, bytes)),
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
  // What was written goes out first.
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
    // The local service knows no empty body but this.
    request.end(isEmpty ? '0\r\n\r\n' : body)
  })
}
