import { createReadStream, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Recording } from '../baselines.ts'

// Server that streams the files of the recorded responses from disk.
const [, , recording = '', port = ''] = process.argv
const files = new Map(
  (JSON.parse(readFileSync(recording, 'utf8')) as Recording[]).map((one) => [one.path, { ...one, bytes: statSync(one.file).size }]),
)
const server = createServer((request, response) => {
  const found = files.get(request.url ?? '')
  if (!found) return response.writeHead(404).end()
  response.writeHead(200, { ...found.headers, 'content-length': found.bytes })
  return createReadStream(found.file).pipe(response)
})
server.listen(Number(port), '127.0.0.1')
