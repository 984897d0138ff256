import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'

/** Returns the paths of all staged and stored files. */
export async function storedFiles(app: TestApp): Promise<string[]> {
  const folders = ['staging', 'sha256'].map((name) => join(app.config.BLOB_PATH, name))
  const entries = (await Promise.all(folders.map((path) => readdir(path, { recursive: true, withFileTypes: true })))).flat()
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Waits until the store has this number of files. */
export async function untilStored(app: TestApp, files: number): Promise<void> {
  await expect.poll(() => storedFiles(app)).toHaveLength(files)
}

/** Waits until no connection holds a claim. A claim is released shortly after the connection is closed and its bytes are deleted. */
export async function untilClaimsReleased(app: TestApp): Promise<void> {
  await expect.poll(() => countClaims(app)).toBe(0)
}

async function countClaims(app: TestApp): Promise<number> {
  const row = await app.services.database.reads.get<{ count: number | string }>(
    'select count(*) as count from uploads where receiving_as is not null',
  )
  return Number(row?.count)
}

/** Listens on a free port. `send` sends half of a request body and keeps the connection open until it is disposed of. */
export async function halfBodies(app: TestApp) {
  const { hostname, port } = new URL(await app.listen())
  const sockets: Socket[] = []
  const send = async (actor: Actor, uploadId: string, kind = 'octet-stream', length = 100_000): Promise<Socket> => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(halfBody(actor, uploadId, kind, length))
    return socket
  }
  return {
    send,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function halfBody(actor: Actor, uploadId: string, kind: string, length: number): string {
  const start = `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`
  const size = kind === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  const type = kind === 'form' ? 'multipart/form-data; boundary=x' : 'application/octet-stream'
  const half = 'a'.repeat(length / 2)
  const body = { form: `${start}${half}`, chunked: `${half.length.toString(16)}\r\n${half}\r\n`, 'octet-stream': half }[kind]
  return `POST /api/packages/versions/upload?upload_id=${uploadId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${actor.secret}\r\nContent-Type: ${type}\r\n${size}\r\n\r\n${body}`
}
