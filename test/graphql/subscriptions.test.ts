import { encodeGlobalID } from '@pothos/plugin-relay'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import { backOffMs } from '../../server/platform/jobs/attempt.ts'
import { claim, finish, type ClaimedJob, renew } from '../../server/platform/jobs/lease.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { type TestApp, testApp } from '../app.ts'
import { subscribeAt } from '../support/events.ts'
import { publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const query = 'subscription ($id: ID!) { jobProgress(id: $id) { subject state done total phase } }'
const idOf = (id: string) => ({ id: encodeGlobalID('Job', id) })

async function startJob({ services }: TestApp): Promise<ClaimedJob> {
  const em = services.database.fork()
  await em.transactional((inner) => enqueue(inner, { kind: 'task', subject: 'a' }, services.now()))
  const held = await claim(em, ['task'], services.now(), 60_000, { backOffMs })
  if (!held) throw new Error('There is no job to take.')
  return held
}

const reportProgress = ({ services }: TestApp, held: ClaimedJob, done: number) =>
  renew(services.database.fork(), held, services.now(), 60_000, { done, total: 9, phase: 'copying' })

it('sends the current state and each change until the end', async () => {
  await using app = await testApp()
  const held = await startJob(app)
  const events = await subscribeAt(await app.listen(), (await app.admin()).secret, query, idOf(held.id))
  expect(events).toMatchObject({ status: 200 })
  expect(Object.fromEntries(events.headers)).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'private, no-store' })
  expect(await events.next()).toEqual({ data: { jobProgress: { subject: 'a', state: 'RUNNING', done: 0, total: null, phase: null } } })
  await reportProgress(app, held, 5)
  expect(await events.next()).toMatchObject({ data: { jobProgress: { done: 5, total: 9, phase: 'copying' } } })
  await finish(app.services.database.fork(), held, app.services.now(), { done: 9 })
  expect(await events.next()).toMatchObject({ data: { jobProgress: { state: 'DONE', done: 9 } } })
  expect(await events.next()).toBeNull()
})

it('refuses unauthorized callers and clients that accept no events', async () => {
  await using app = await testApp()
  const [address, admin, job] = [await app.listen(), await app.admin(), await startJob(app)]
  const refusal = async (secret: string | undefined, id = idOf(job.id)) => {
    const events = await subscribeAt(address, secret, query, id)
    return [events.status, (await events.next()).errors[0].extensions.code, await events.next()]
  }
  expect(await refusal(undefined)).toEqual([401, 'MissingAuthentication', null])
  expect(await refusal((await app.member()).secret)).toEqual([403, 'InsufficientPermissions', null])
  expect(await refusal((await app.withScopes(admin, ['write'])).secret)).toEqual([403, 'InsufficientPermissions', null])
  expect(await refusal(admin.secret, idOf(newId()))).toEqual([404, 'NotFound', null])
  expect(await refusal(admin.secret, { id: encodeGlobalID('User', admin.id) })).toEqual([400, 'InvalidInput', null])
  expect(await admin.graphql(query, idOf(job.id))).toMatchObject({ status: 406 })
})

it('ends with an error when the token is revoked or its owner loses the permission', async () => {
  await using app = await testApp()
  const [address, owner, first, second, job] = [
    await app.listen(),
    await app.owner(),
    await app.admin(),
    await app.admin(),
    await startJob(app),
  ]
  const [revoked, demoted] = await Promise.all([first, second].map(({ secret }) => subscribeAt(address, secret, query, idOf(job.id))))
  expect([await revoked?.next(), await demoted?.next()]).toMatchObject([{ data: {} }, { data: {} }])
  await app.anonymous.post('/api/tokens/revoke', { secret: first.secret })
  expect(await owner.put(`/api/admin/users/${second.id}`, { role: 'member' })).toMatchObject({ status: 200 })
  // A change that neither subscriber receives.
  await reportProgress(app, job, 7)
  expect(await revoked?.next()).toMatchObject({ errors: [{ extensions: { code: 'MissingAuthentication' } }] })
  expect(await demoted?.next()).toMatchObject({ errors: [{ extensions: { code: 'InsufficientPermissions' } }] })
  expect([await revoked?.next(), await demoted?.next()]).toEqual([null, null])
})

it('asks subscribers with an expired session to sign in again, also where anonymous users may browse', async () => {
  await using app = await publicApp()
  const [address, admin, job] = [await app.listen(), await app.admin(), await startJob(app)]
  await publish(admin, { name: 'acme', version: '1.0.0' })
  const session = await admin.session()
  const score = 'subscription { versionScoreChanged(package: "acme", version: "1.0.0") { version } }'
  const watched = [await subscribeAt(address, session.cookies, query, idOf(job.id)), await subscribeAt(address, session.cookies, score)]
  for (const events of watched) expect(await events.next()).toMatchObject({ data: {} })
  expect(await session.post('/api/auth/logout')).toMatchObject({ status: 200 })
  for (const events of watched) {
    expect(await events.next()).toMatchObject({ errors: [{ extensions: { code: 'MissingAuthentication' } }] })
    expect(await events.next()).toBeNull()
  }
})

it('ends when the server stops', async () => {
  await using app = await testApp()
  const job = await startJob(app)
  const events = await subscribeAt(await app.listen(), (await app.admin()).secret, query, idOf(job.id))
  await events.next()
  app.services.stopping.abort()
  expect(await events.next()).toBeNull()
})

it('allows ten subscriptions per user and another one after one is closed', async () => {
  await using app = await testApp()
  const [address, { secret }, job] = [await app.listen(), await app.admin(), await startJob(app)]
  const open = () => subscribeAt(address, secret, query, idOf(job.id))
  const ten = await Promise.all(Array.from({ length: 10 }, open))
  expect(ten.map(({ status }) => status)).toEqual(Array(10).fill(200))
  const refused = await open()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
  ten[0]?.close()
  await expect.poll(async () => (await open()).status).toBe(200)
})

it('survives clients that disconnect before the first event', async () => {
  await using app = await testApp()
  const [address, { secret, graphql }, job] = [await app.listen(), await app.admin(), await startJob(app)]
  const { limits } = app.services
  const gone = new AbortController()
  const closed = once(app.http.server, 'connection').then(([socket]: Socket[]) => socket && once(socket, 'close'))
  const use = async (...given: Parameters<typeof limits.use>) => {
    const bucket = await limits.use(...given)
    gone.abort()
    await closed
    return bucket
  }
  app.services.limits = { ...limits, use }
  await expect(subscribeAt(address, secret, query, idOf(job.id), gone)).rejects.toThrow('aborted')
  app.services.limits = limits
  expect(await graphql('{ jobCounts { running } }')).toMatchObject({ status: 200 })
})
