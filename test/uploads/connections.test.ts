import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { anotherInstance } from '../support/instances.ts'
import { PubClient } from '../support/pub-client.ts'
import { announce, finish, sendBytes, upload } from '../support/publish.ts'
import { halfBodies, storedFiles, untilClaimsReleased, untilStored } from '../support/uploads.ts'

const acme = () => packageArchive({ name: 'acme', version: '1.0.0' })

describe('the archive of an upload', () => {
  it.each(['octet-stream', 'form'])('is accepted from one connection at a time, as %s', async (kind) => {
    await using app = await testApp()
    await using other = await anotherInstance(app)
    const alice = await app.member()
    using connections = await halfBodies(app)
    const there = alice.at(other ?? app)
    const uploadId = await announce(alice)
    const sender = await connections.send(alice, uploadId, kind)
    await untilStored(app, 1)
    const dripping = setInterval(() => sender.write('a'), 20)
    const rivals = await Promise.all(Array.from({ length: 6 }, () => sendBytes(there, uploadId, Buffer.alloc(500_000))))
    expect(statuses(rivals)).toEqual([409, 409, 409, 409, 409, 409])
    expect(await storedFiles(app)).toHaveLength(1)
    clearInterval(dripping)
    sender.destroy()
    await untilClaimsReleased(app)
    expect(await storedFiles(app)).toHaveLength(0)
    expect(await sendBytes(there, uploadId, await acme())).toMatchObject({ status: 302 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
  })

  it.each(['octet-stream', 'form'])('is accepted from another connection when the first one stalls, as %s', async (kind) => {
    await using app = await testApp()
    await using other = await anotherInstance(app)
    const alice = await app.member()
    const uploadId = await announce(alice)
    using connections = await halfBodies(app)
    const silent = await connections.send(alice, uploadId, kind)
    await untilStored(app, 1)
    const answer = once(silent, 'data')
    expect(await sendBytes(alice.at(other ?? app), uploadId, await acme())).toMatchObject({ status: 302 })
    expect(String(await answer)).toContain('409 Conflict')
    silent.destroy()
    await untilStored(app, 1)
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
  })

  it('is abandoned when no data arrives for 30 seconds', async () => {
    await using app = await testApp()
    const alice = await app.member()
    using connections = await halfBodies(app)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const silent = await connections.send(alice, await announce(alice))
      await untilStored(app, 1)
      const answer: string[] = []
      silent.on('data', (chunk) => void answer.push(String(chunk)))
      for (let beats = 0; answer.length === 0 && beats < 2000; beats++) {
        vi.advanceTimersByTime(250)
        await sleep(5)
      }
      expect(answer.join('')).toContain('408 Request Timeout')
      expect(await storedFiles(app)).toHaveLength(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is read and discarded when the upload is already finished, as a form and as a whole body', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '1000000' } })
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address: await app.listen(), token: alice.secret ?? '' })
    const uploadId = await upload(alice, await acme())
    const answer = await finish(alice, uploadId)
    const [url, again] = [`${app.config.SERVER_URL}/api/packages/versions/upload`, Buffer.alloc(900_000)]
    const location = await pub.upload(url, { upload_id: uploadId }, again)
    expect(await sendBytes(alice, uploadId, again)).toMatchObject({ status: 302, headers: { location } })
    await expect(pub.upload(url, { upload_id: uploadId }, Buffer.alloc(1_000_001))).rejects.toMatchObject({ status: 413 })
    expect(await sendBytes(alice, uploadId, Buffer.alloc(1_000_001))).toMatchObject({ status: 413 })
    expect(await finish(alice, uploadId)).toMatchObject({ status: 200, body: answer.body })
  })
})
