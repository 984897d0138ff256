import { request } from 'node:http'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, sendBytes } from '../support/publish.ts'
import { storedFiles } from '../support/uploads.ts'

/** Returns a field or a file of a multipart form with the boundary `x`. */
const part = (name: string, value: string, filename = '') =>
  `--x\r\ncontent-disposition: form-data; name="${name}"${filename && `; filename="${filename}"`}\r\n\r\n${value}\r\n`
const headers = { 'content-type': 'multipart/form-data; boundary=x' }
const acme = () => packageArchive({ name: 'acme', version: '1.0.0' })

describe('the upload form', () => {
  it.each([
    ['complete', `${part('upload_id', 'ID')}${part('file', 'bytes', 'package.tar.gz')}--x--\r\n`, { status: 302, files: 1 }],
    [
      'ordered with the file first',
      `${part('file', 'bytes', 'package.tar.gz')}${part('upload_id', 'ID')}--x--\r\n`,
      { status: 400, code: 'InvalidInput', files: 0 },
    ],
    ['without a file', `${part('upload_id', 'ID')}--x--\r\n`, { status: 400, code: 'InvalidInput', files: 0 }],
    [
      'cut short in the file',
      `${part('upload_id', 'ID')}${part('file', 'byt', 'package.tar.gz')}`,
      { status: 400, code: 'InvalidInput', files: 0 },
    ],
    ['cut short in a header', `${part('upload_id', 'ID')}--x\r\ncontent-dis`, { status: 400, code: 'InvalidInput', files: 0 }],
    ['not a form', 'hello', { status: 400, code: 'InvalidInput', files: 0 }],
    ['empty', '', { status: 400, code: 'InvalidInput', files: 0 }],
  ])('is accepted or refused when it is %s', async (_what, body, expected) => {
    expect(await sendForm(body)).toMatchObject(expected)
  })

  it('is refused without a boundary or with another type', async () => {
    expect(await sendForm('x', { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400, code: 'InvalidInput' })
    expect(await sendForm('{}', { 'content-type': 'application/json' })).toMatchObject({ status: 415, code: 'InvalidInput' })
  })
})

describe('the size limit', () => {
  it.each(['application/octet-stream', 'multipart/form-data; boundary=x'])(
    'answers 413 immediately to %s and reads no further',
    async (type) => {
      await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '100000' } })
      const alice = await app.member()
      const uploadId = await announce(alice)
      const { status, body, sent } = await sendForever(await app.listen(), alice.secret ?? '', uploadId, type)
      expect({ status, body }).toMatchObject({ status: 413, body: { error: { code: 'PackageRejected' } } })
      expect(sent).toBeLessThan(8 * 1024 ** 2)
      expect(await storedFiles(app)).toEqual([])
      expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
    },
  )

  it('applies to the archive, not the form, and includes the limit itself', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '1000' } })
    const alice = await app.member()
    for (const [bytes, status] of [
      [1000, 302],
      [1001, 413],
    ] as const) {
      const uploadId = await announce(alice)
      expect(
        await alice.post(
          '/api/packages/versions/upload',
          `${part('upload_id', uploadId)}${part('file', 'a'.repeat(bytes), 'p')}--x--\r\n`,
          { headers },
        ),
      ).toMatchObject({ status })
      expect(await sendBytes(alice, uploadId, Buffer.alloc(bytes))).toMatchObject({ status })
    }
  })
})

it('leaves nothing of an upload whose connection breaks', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const uploadId = await announce(alice)
  const { port } = new URL(await app.listen())
  for (const type of ['application/octet-stream', 'multipart/form-data; boundary=x']) {
    const socket = connect(Number(port), '127.0.0.1')
    const start = type.startsWith('multi')
      ? `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`
      : ''
    socket.write(
      `POST /api/packages/versions/upload?upload_id=${uploadId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.secret}\r\nContent-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n${start}${'a'.repeat(50_000)}`,
    )
    await expect.poll(() => storedFiles(app)).toHaveLength(1)
    socket.destroy()
    await expect.poll(() => storedFiles(app)).toEqual([])
  }
  await sleep(20)
  expect(app.lines.filter((line) => line.includes('ERROR'))).toEqual([])
  expect(await sendBytes(alice, uploadId, await acme())).toMatchObject({ status: 302 })
})

/** Sends a form with `ID` replaced by the upload's id. Returns status, error code and the number of stored files. */
async function sendForm(body: string, type = headers) {
  await using app = await testApp()
  const alice = await app.member()
  const uploadId = await announce(alice)
  const answer = await alice.post('/api/packages/versions/upload', body.replace('ID', uploadId), { headers: type })
  return { status: answer.status, code: answer.body?.error?.code, files: (await storedFiles(app)).length }
}

/** Sends an endless body until an answer arrives and returns the answer with the number of bytes sent. */
function sendForever(address: string, token: string, uploadId: string, type: string) {
  return new Promise<{ status: number; body: unknown; sent: number }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const outgoing = request(`${address}/api/packages/versions/upload?upload_id=${uploadId}`, { method: 'POST', headers, agent: false })
    let [sent, answered] = [0, false]
    outgoing.on('error', (error) => !answered && reject(error))
    outgoing.on('response', (response) => {
      answered = true
      json(response).then((body) => {
        outgoing.destroy()
        resolve({ status: response.statusCode ?? 0, body, sent })
      }, reject)
    })
    if (type.startsWith('multi'))
      outgoing.write(
        `--x\r\ncontent-disposition: form-data; name="upload_id"\r\n\r\n${uploadId}\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="p"\r\n\r\n`,
      )
    const chunk = Buffer.alloc(65_536, 'a')
    const push = () => {
      if (answered || outgoing.destroyed) return
      for (let writable = true; writable; sent += chunk.length) writable = outgoing.write(chunk)
      outgoing.once('drain', push)
    }
    push()
  })
}
