import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

const attribute = z.object({
  key: z.string(),
  value: z
    .object({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() })
    .transform((value) => value.stringValue ?? value.intValue),
})
const attributes = z.array(attribute).transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value])))
const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  attributes,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.object({ code: z.number().default(0) }).transform(({ code }) => code),
})
const message = z.object({
  resourceSpans: z.array(z.object({ resource: z.object({ attributes }), scopeSpans: z.array(z.object({ spans: z.array(span) })) })),
})

/** Span as received by a trace collector. */
export type Span = z.infer<typeof span>

/** Trace collector that receives OTLP over HTTP. */
export type Collector = {
  url: string
  /** Bodies and headers of the received requests. */
  bodies: string[]
  headers: NodeJS.Dict<string | string[]>[]
  /** Returns the spans of the received JSON requests. */
  spans: () => Span[]
  resource: () => Record<string, unknown>
}

/** Starts a collector that responds with `status`. With 0, it never responds. */
export async function startCollector(status = 200): Promise<Collector> {
  const [bodies, headers]: [string[], Collector['headers']] = [[], []]
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString())
      headers.push({ ...request.headers, path: request.url })
      if (status > 0) response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const parsed = () => bodies.flatMap((body) => message.parse(JSON.parse(body)).resourceSpans)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    headers,
    spans: () => parsed().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    resource: () => parsed()[0]?.resource.attributes ?? {},
  }
}
