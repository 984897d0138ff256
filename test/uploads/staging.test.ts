import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import { insertRows, readRows } from '../../server/platform/db/statements.ts'
import { testApp } from '../app.ts'
import { PubClient } from '../support/pub-client.ts'
import { announce, finish, sendBytes, upload } from '../support/publish.ts'
import { halfBodies, storedFiles, untilClaimsReleased, untilStored } from '../support/uploads.ts'

describe('the staged archives of a user', () => {
  it('are limited in size, also while they arrive, with a Retry-After', async () => {
    const start = new Date('2026-05-01T12:00:00Z')
    await using app = await testApp({ alone: true, now: start, env: { MAX_UPLOAD_BYTES: '100000', UPLOAD_STAGING_BYTES: '250000' } })
    const [alice, bob] = [await app.member(), await app.member()]
    const first = await upload(alice, Buffer.alloc(100_000))
    app.clock.now = new Date(start.getTime() + 60_000)
    using connections = await halfBodies(app)
    const arriving = await connections.send(alice, await announce(alice))
    await untilStored(app, 2)
    const third = await announce(alice)
    const refused = { status: 429, headers: { 'retry-after': '540' }, body: { error: { code: 'RateLimitExceeded' } } }
    expect(await sendBytes(alice, third, Buffer.alloc(60_000))).toMatchObject(refused)
    expect(await sendBytes(alice, third, Buffer.alloc(50_000))).toMatchObject({ status: 302 })
    expect(await sendBytes(bob, await announce(bob), Buffer.alloc(100_000))).toMatchObject({ status: 302 })
    arriving.destroy()
    await untilClaimsReleased(app)
    expect(await storedFiles(app)).toHaveLength(3)
    expect(await upload(alice, Buffer.alloc(100_000))).toBeTruthy()
    expect(await sendBytes(alice, await announce(alice), Buffer.alloc(1000))).toMatchObject(refused)
    expect(await finish(alice, first)).toMatchObject({ status: 400 })
    expect(await sendBytes(alice, await announce(alice), Buffer.alloc(100_000))).toMatchObject({ status: 302 })
    app.clock.now = new Date(start.getTime() + 700_000)
    expect(await upload(alice, Buffer.alloc(100_000))).toBeTruthy()
    expect(await storedFiles(app)).toHaveLength(2)
  })

  it('count a chunked body as it arrives', async () => {
    await using app = await testApp({ alone: true, env: { MAX_UPLOAD_BYTES: '100000', UPLOAD_STAGING_BYTES: '100000' } })
    const alice = await app.member()
    await upload(alice, Buffer.alloc(60_000))
    using connections = await halfBodies(app)
    const socket = await connections.send(alice, await announce(alice), 'chunked')
    expect(String((await once(socket, 'data'))[0])).toContain('429 Too Many Requests')
    socket.destroy()
    await untilStored(app, 1)
  })

  it('free their space as soon as a refusal is answered', async () => {
    await using app = await testApp({ env: { MAX_UPLOAD_BYTES: '100000', UPLOAD_STAGING_BYTES: '100000' } })
    const alice = await app.member()
    const pub = new PubClient({ hostedUrl: app.config.SERVER_URL, address: await app.listen(), token: alice.secret ?? '' })
    const url = `${app.config.SERVER_URL}/api/packages/versions/upload`
    for (let round = 0; round < 20; round++) {
      const [tooLarge, next] = [await announce(alice), await announce(alice)]
      await expect(pub.upload(url, { upload_id: tooLarge }, Buffer.alloc(100_001))).rejects.toMatchObject({ status: 413 })
      expect(await sendBytes(alice, next, Buffer.alloc(100_000))).toMatchObject({ status: 302 })
      expect(await finish(alice, next)).toMatchObject({ status: 400 })
    }
  })
})

it('finds the uploads of a user in progress without reading finished ones', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await upload(alice, Buffer.alloc(1000))
  const em = app.services.database.fork()
  await em.transactional(async (inner) => {
    const [at, until] = [app.services.now(), new Date(app.services.now().getTime() + 600_000)]
    const finished = Array.from({ length: 1000 }, () => ({
      id: newId(),
      created_at: at,
      user_id: alice.id,
      expires_at: until,
      message: 'Done.',
    }))
    await insertRows(inner, 'uploads', finished)
  })
  await em.execute('analyze uploads')
  const looked = [
    ...new Set(app.queries.filter((sql) => /^select [^]* from "uploads" where "user_id" = \? and "message" is null/.test(sql))),
  ]
  expect(looked).toHaveLength(2)
  const explain = app.config.DB_BACKEND === 'sqlite' ? 'explain query plan' : 'explain'
  for (const sql of looked) {
    const values = [alice.id, app.services.now()].slice(0, sql.split('?').length - 1)
    expect(JSON.stringify(await readRows(em, `${explain} ${sql}`, values))).toContain('uploads_pending')
  }
})
