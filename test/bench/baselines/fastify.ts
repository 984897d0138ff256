import Fastify from 'fastify'
import { readFileSync } from 'node:fs'
import type { Recording } from '../baselines.ts'

// Server that replays the recorded responses from memory.
const [, , recording = '', port = ''] = process.argv
const app = Fastify()
for (const { path, status, headers, file } of JSON.parse(readFileSync(recording, 'utf8')) as Recording[]) {
  const body = readFileSync(file)
  app.get(
    path,
    (_request, reply) =>
      void reply
        .code(status)
        .headers(headers)
        .send(status === 304 ? undefined : body),
  )
}
await app.listen({ host: '127.0.0.1', port: Number(port) })
