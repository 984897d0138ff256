import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

/** What the upstream server would answer without a fault. */
export type UpstreamAnswer = { status: number; headers: Record<string, string>; body: Buffer }

/** Answers a request in place of the upstream server. */
export type UpstreamFault = (request: IncomingMessage, response: ServerResponse, answer: UpstreamAnswer) => void

/** Answers with a status and the page of a gateway. */
export const failWith =
  (status: number): UpstreamFault =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html><body>The service is unavailable.</body></html>')

/** Sends the complete headers, then one byte per interval. */
export const drip =
  (intervalMs: number): UpstreamFault =>
  (_request, response, { status, headers, body }) => {
    response.writeHead(status, { ...headers, 'content-length': String(body.length) })
    let sent = 0
    const timer = setInterval(() => {
      response.write(body.subarray(sent, ++sent))
      if (sent === body.length) response.end()
    }, intervalMs)
    response.on('close', () => clearInterval(timer))
  }

/** Sends the first half of the body. If `declared`, with the length of all of it, and closes the connection early. */
export const truncate =
  ({ declared }: { declared: boolean }): UpstreamFault =>
  (_request, response, { status, headers, body }) => {
    const half = body.subarray(0, body.length / 2)
    if (!declared) return void response.writeHead(status, headers).end(half)
    response.writeHead(status, { ...headers, 'content-length': String(body.length) })
    response.write(half, () => response.destroy())
  }

/** Sends the body and then more without an end, as fast as the client reads. */
export const neverEnd: UpstreamFault = (_request, response, { status, headers, body }) => {
  response.writeHead(status, headers)
  response.write(body)
  const more = Buffer.alloc(64 * 1024, 0x20)
  const send = () => {
    while (!response.destroyed && response.write(more));
  }
  response.on('drain', send)
  send()
}

/** Declares a length of `bytes`, and sends the body only. */
export const declareLength =
  (bytes: number): UpstreamFault =>
  (_request, response, { status, headers, body }) => {
    response.writeHead(status, { ...headers, 'content-length': String(bytes) })
    response.write(body)
  }

/** Sends the beginning of the body and the rest after `release` was called. `started` resolves when the beginning was sent. */
export function pauseAfter(bytes: number) {
  const started = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const fault: UpstreamFault = (_request, response, { status, headers, body }) => {
    response.writeHead(status, { ...headers, 'content-length': String(body.length) })
    response.write(body.subarray(0, bytes), () => started.resolve())
    void released.promise.then(() => response.end(body.subarray(bytes)))
  }
  return { fault, started: started.promise, release: () => released.resolve() }
}

/** Redirects to a URL. */
export const redirectTo =
  (location: string, status = 302): UpstreamFault =>
  (_request, response) =>
    response.writeHead(status, { location }).end()

/** Sends the JSON document after a change, with an ETag that does not depend on the change, and 304 to clients that have it. */
export const alterBehindEtag =
  // oxlint-disable-next-line typescript/no-explicit-any -- changes any field of any document
  (change: (document: any) => void): UpstreamFault =>
    (request, response, { status, headers, body }) => {
      if (request.headers['if-none-match'] === '"constant"') return void response.writeHead(304).end()
      const document: unknown = JSON.parse(body.toString())
      change(document)
      response.writeHead(status, { ...headers, etag: '"constant"' }).end(JSON.stringify(document))
    }

/** Closes the connection without an answer. */
export const reset: UpstreamFault = (request) => request.socket.resetAndDestroy()

/** Sends other bytes with the same headers. */
export const send =
  (body: Buffer | string): UpstreamFault =>
  (_request, response, { headers }) => {
    const { etag: _etag, 'content-encoding': _encoding, ...rest } = headers
    response.writeHead(200, rest).end(body)
  }

/** Sends the JSON document after a change. */
export const alter =
  // oxlint-disable-next-line typescript/no-explicit-any -- changes any field of any document
  (change: (document: any) => void): UpstreamFault =>
    (_request, response, { status, headers, body }) => {
      const { etag: _etag, 'content-encoding': _encoding, ...rest } = headers
      const document: unknown = JSON.parse(body.toString())
      change(document)
      response.writeHead(status, { ...rest, 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(document)))
    }
