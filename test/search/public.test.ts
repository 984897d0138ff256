import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { dependent, makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const searches = [
  '/api/search',
  '/api/search?q=acme',
  '/api/search?q=ac',
  '/api/search?q=is:public',
  '/api/search?q=sdk:dart',
  '/api/search?q=dependency:hidden',
]

async function found(actor: Actor, path: string): Promise<string[]> {
  const { status, body } = await actor.get(path)
  expect({ path, status }).toEqual({ path, status: 200 })
  const packages = (body.packages as { package: string }[]).map((one) => one.package)
  expect({ path, total: body.totalCount }).toEqual({ path, total: packages.length })
  return packages
}

const setVisibility = async (actor: Actor, name: string, visibility: 'public' | 'private') => {
  const answer = await actor.put(`/api/packages/${name}/visibility`, { visibility, confirm: name, acceptBreakage: true })
  expect({ name, status: answer.status, body: answer.body }).toMatchObject({ name, status: 200 })
}

it('finds public packages for anonymous users and no trace of others', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  for (const path of searches) expect(await found(app.anonymous, path)).toEqual([])
  await setVisibility(alice, 'acme', 'public')
  for (const path of searches.slice(0, 5)) expect({ path, found: await found(app.anonymous, path) }).toEqual({ path, found: ['acme'] })
  const look =
    '{ searchPackages(first: 9) { totalCount nodes { name likeCount viewerHasLiked downloads { last30Days } } facets { facets { filter values { value } } } } completePackageNames(prefix: "h", first: 9) completeSearch(query: "hid", first: 9) { label } typo: searchPackages(query: "hiden", first: 1) { didYouMean } }'
  const { body } = await app.anonymous.graphql(look)
  expect(body.errors).toBeUndefined()
  expect(body.data.searchPackages).toMatchObject({
    totalCount: 1,
    nodes: [{ name: 'acme', likeCount: 0, viewerHasLiked: false, downloads: null }],
  })
  expect(JSON.stringify(body)).not.toMatch(/hidden|private|uploader/)
  await setSwitch(app, false)
  for (const path of searches) expect((await app.anonymous.get(path)).status).toBe(401)
})

it('hides packages whose versions all need a private package, until that becomes public', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  await publish(alice, dependent('acme', '1.0.0', ['hidden']))
  await makePublic(app, 'acme')
  await publish(alice, dependent('acme', '1.1.0', ['hidden']))
  for (const path of searches) expect(await found(app.anonymous, path)).toEqual([])
  expect(await found(alice, '/api/search?q=dependency:hidden')).toEqual(['acme'])
  await setVisibility(alice, 'hidden', 'public')
  expect(await found(app.anonymous, '/api/search?q=dependency:hidden')).toEqual(['acme'])
  await setVisibility(alice, 'hidden', 'private')
  for (const path of searches) expect(await found(app.anonymous, path)).toEqual([])
})

it('shows anonymous users scores and likes of public packages but no downloads', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['acme', 'hidden']) await publish(alice, { name, version: '1.0.0' })
  await setVisibility(alice, 'acme', 'public')
  expect(await app.anonymous.get('/api/packages/acme/score')).toMatchObject({
    status: 200,
    body: { status: 'pending', likeCount: 0, downloadCount30Days: 0, tags: expect.arrayContaining(['sdk:dart', 'is:public']) },
  })
  expect((await app.anonymous.get('/api/packages/acme/versions/1.0.0/scoring-report')).status).toBe(200)
  expect((await app.anonymous.get('/api/packages/acme/likes')).body).toEqual({ package: 'acme', likes: 0 })
  for (const path of ['acme/downloads', 'hidden/score', 'hidden/likes', 'hidden/downloads', 'hidden/versions/1.0.0/score', 'absent/score'])
    expect({ path, status: (await app.anonymous.get(`/api/packages/${path}`)).status }).toEqual({ path, status: 401 })
})

it('gives anonymous users cursors without downloads or package counts and refuses others', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['hidden', 'acme', 'acme_ui']) await publish(alice, { name, version: '1.0.0' })
  for (const name of ['acme', 'acme_ui']) await setVisibility(alice, name, 'public')
  for (const sort of ['DOWNLOADS', 'CREATED', 'UPDATED', 'NAME', 'RELEVANCE']) {
    const page = async (after: string) => {
      const { body } = await app.anonymous.graphql(`{ searchPackages(first: 1, sort: ${sort}${after}) { edges { cursor node { name } } } }`)
      return body as { data?: { searchPackages: { edges: { cursor: string; node: { name: string } }[] } }; errors?: object[] }
    }
    const first = (await page(''))?.data?.searchPackages.edges[0]
    expect({ sort, cursor: Buffer.from(first?.cursor ?? '', 'base64url').toString() }).toEqual({ sort, cursor: '1' })
    const second = (await page(`, after: "${first?.cursor}"`)).data?.searchPackages.edges[0]
    expect(new Set([first?.node.name, second?.node.name])).toEqual(new Set(['acme', 'acme_ui']))
    const forged = Buffer.from(JSON.stringify([sort === 'NAME' ? 'a' : 1, 0])).toString('base64url')
    expect((await page(`, after: "${forged}"`)).errors).toMatchObject([{ extensions: { code: 'InvalidInput' } }])
  }
})

it('ranks public packages for anonymous users independently of private ones', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (let index = 0; index < 8; index++) await publish(alice, { name: `other${index}`, version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: 'topics: [carousel]' })
  await setVisibility(alice, 'acme', 'public')
  const scores = async () => (await app.anonymous.get('/api/search?q=carousel')).body.packages
  const before = await scores()
  expect(before).toMatchObject([{ package: 'acme' }])
  for (const name of ['hidden', 'buried'])
    await publish(alice, { name, version: '1.0.0', pubspec: 'topics: [carousel, pictures, animation]' })
  expect(await scores()).toEqual(before)
})

it('suggests public names to anonymous users even when private ones are more similar', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (let index = 0; index < 51; index++) await publish(alice, { name: `carosel${index}`, version: '1.0.0' })
  await publish(alice, { name: 'carousel', version: '1.0.0' })
  await setVisibility(alice, 'carousel', 'public')
  const { body } = await app.anonymous.graphql('{ searchPackages(first: 1, query: "carosel") { didYouMean } }')
  expect(body.data).toEqual({ searchPackages: { didYouMean: ['carousel'] } })
})

it('treats only dependencies hosted here as packages of this server', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'path', version: '1.0.0' })
  await publish(alice, {
    name: 'acme',
    version: '1.0.0',
    pubspec: 'dependencies:\n  path:\n    hosted: https://pub.dev\n    version: ^1.0.0\n',
  })
  await setVisibility(alice, 'acme', 'public')
  expect((await app.anonymous.get('/api/packages/acme')).status).toBe(200)
  expect(await found(app.anonymous, '/api/search?q=dependency:path')).toEqual(['acme'])
  await setVisibility(alice, 'path', 'public')
  await setVisibility(alice, 'path', 'private')
  expect(await found(app.anonymous, '/api/search?q=acme')).toEqual(['acme'])
})

it('reveals a dependency on this server only while it is public: not before publication or after deletion', async () => {
  await using app = await publicApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, dependent('acme', '1.0.0', ['hidden']))
  const isFound = async () => {
    const names = await found(app.anonymous, '/api/search?q=dependency:hidden')
    const { body } = await app.anonymous.graphql('{ completeSearch(query: "dependency:h", first: 9) { query } }')
    expect(body.data.completeSearch).toEqual(names.map(() => ({ query: 'dependency:hidden' })))
    expect((await app.anonymous.get('/api/packages/acme')).status).toBe(names.length > 0 ? 200 : 401)
    return names.length > 0
  }
  await setVisibility(alice, 'acme', 'public')
  expect(await isFound()).toBe(false)
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  expect(await isFound()).toBe(false)
  await setVisibility(alice, 'hidden', 'public')
  expect(await isFound()).toBe(true)
  expect((await admin.delete('/api/admin/packages/hidden/versions/1.0.0?acceptBreakage=true')).status).toBe(200)
  expect(await isFound()).toBe(false)
  await admin.delete('/api/admin/reserved-names/hidden')
  await publish(alice, { name: 'hidden', version: '1.0.1' })
  expect(await isFound()).toBe(false)
  await setVisibility(alice, 'hidden', 'public')
  expect(await isFound()).toBe(true)
  expect((await admin.delete('/api/admin/packages/hidden?acceptBreakage=true')).status).toBe(200)
  expect(await isFound()).toBe(false)
})
