import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { publish } from '../support/publish.ts'

async function publishPackages(app: TestApp) {
  const alice = await app.member()
  for (const name of ['apple', 'banana']) await publish(alice, { name, version: '1.0.0' })
  return alice
}

const likes = async (actor: Actor, name: string) =>
  (await actor.get(`/api/packages/${name}/likes`)).body as { package: string; likes: number }
const byLikes = async (actor: Actor) =>
  ((await actor.get('/api/search?sort=likes')).body.packages as { package: string }[]).map((found) => found.package)

it('likes and unlikes a package idempotently', async () => {
  await using app = await testApp({ now: new Date('2026-05-05T05:05:05.000Z') })
  const alice = await publishPackages(app)
  const viewer = await app.viewer()
  expect(await likes(viewer, 'apple')).toEqual({ package: 'apple', likes: 0 })
  for (let count = 0; count < 2; count++)
    expect(await viewer.put('/api/account/likes/apple')).toMatchObject({ status: 200, body: { package: 'apple', liked: true } })
  await Promise.all(Array.from({ length: 5 }, () => alice.put('/api/account/likes/apple')))
  expect(await likes(viewer, 'apple')).toEqual({ package: 'apple', likes: 2 })
  expect(await byLikes(alice)).toEqual(['apple', 'banana'])
  expect((await viewer.get('/api/account/likes')).body).toEqual({
    likedPackages: [{ package: 'apple', liked: true, created: '2026-05-05T05:05:05.000Z' }],
  })
  for (let count = 0; count < 2; count++)
    expect(await viewer.delete('/api/account/likes/apple')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect((await viewer.get('/api/account/likes')).body).toEqual({ likedPackages: [] })
  expect(await likes(viewer, 'apple')).toMatchObject({ likes: 1 })
})

it('likes and unlikes in GraphQL', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  const fields = 'package { name likeCount viewerHasLiked }'
  const like = await alice.graphql(`mutation { likePackage(input: { package: "apple" }) { ${fields} } }`)
  expect(like.body).toEqual({
    data: { likePackage: { package: { name: 'apple', likeCount: 1, viewerHasLiked: true } } },
    extensions: { cost: expect.any(Number) },
  })
  expect((await (await app.viewer()).graphql(`{ package(name: "apple") { viewerHasLiked likeCount } }`)).body.data.package).toEqual({
    viewerHasLiked: false,
    likeCount: 1,
  })
  expect((await alice.graphql('{ likedPackages(first: 5) { totalCount nodes { package { name } } } }')).body.data.likedPackages).toEqual({
    totalCount: 1,
    nodes: [{ package: { name: 'apple' } }],
  })
  const unlike = await alice.graphql(`mutation { unlikePackage(input: { package: "apple" }) { ${fields} } }`)
  expect(unlike.body.data.unlikePackage.package).toEqual({ name: 'apple', likeCount: 0, viewerHasLiked: false })
})

it('is deleted along with the account and with the package', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await publishPackages(app), await app.member(), await app.admin()]
  for (const actor of [alice, bob]) await actor.put('/api/account/likes/banana')
  await alice.put('/api/account/likes/apple')
  expect(await admin.delete(`/api/admin/users/${bob.id}`)).toMatchObject({ status: 200 })
  expect(await likes(alice, 'banana')).toMatchObject({ likes: 1 })
  const row = await app.services.database.reads.get<{ likes: number }>("select likes from package_search_documents where name = 'banana'")
  expect(Number(row?.likes)).toBe(1)
  await app.services.database.fork().execute("delete from packages where name = 'banana'")
  expect((await alice.get('/api/account/likes')).body.likedPackages).toMatchObject([{ package: 'apple' }])
})

it('answers 404 for a package being deleted and does not prevent its deletion', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  await alice.put('/api/account/likes/apple')
  for (const [method, name] of [
    ['DELETE', 'apple'],
    ['PUT', 'banana'],
  ] as const) {
    const deletion = {
      lock: `select p.id from packages p join package_search_documents d on d.package_id = p.id where p.name = '${name}'`,
      changes: [`delete from packages where name = '${name}'`],
    }
    const answer = await duringTransaction(app, deletion, () => alice.send(method, `/api/account/likes/${name}`))
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  }
})

it('refuses anonymous users, unknown packages and changes without a CSRF token', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  for (const method of ['PUT', 'DELETE'] as const) {
    expect(await app.anonymous.send(method, '/api/account/likes/apple')).toMatchObject({ status: 401 })
    expect(await alice.send(method, '/api/account/likes/absent')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    const session = await alice.session()
    const forged = await session.send(method, '/api/account/likes/apple', undefined, { headers: { 'x-csrf-token': 'x' } })
    expect(forged).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
  }
  expect(await app.anonymous.get('/api/account/likes')).toMatchObject({ status: 401 })
})
