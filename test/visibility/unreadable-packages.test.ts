import { expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

// The names have the same length, so that answers that contain them do too.
const [empty, secret, hidden] = ['hollow_shell', 'secret_thing', 'hidden_parts']

/** Creates a public package whose versions all need a private one, and a private package. */
async function prepare() {
  const app = await publicApp()
  const alice = await app.member()
  for (const name of [hidden, secret]) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, { name: empty, version: '0.9.0' })
  await makePublic(app, empty)
  await publish(alice, dependent(empty, '1.0.0', [hidden]))
  const admin = await app.admin()
  expect((await admin.delete(`/api/admin/packages/${empty}/versions/0.9.0`)).status).toBe(200)
  return { app, alice }
}

it('answers alike for a private package and a public one without a version readable by anonymous users', async () => {
  const { app, alice } = await prepare()
  await using _app = app
  expect((await alice.get(`/api/packages/${empty}`)).status).toBe(200)
  const paths = routes.filter(({ method, path }) => method === 'GET' && /:(?:pkg|file)\b/.test(path)).map(({ path }) => path)
  const ask = async (path: string, name: string) => {
    const url = path.replace(':pkg', name).replace(':file', `${name}-1.0.0.tar.gz`).replace(':version', '1.0.0').replaceAll(/:\w+/g, 'acme')
    const { status, raw, headers } = await app.anonymous.get(url, { ip: app.address() })
    return { path, status, challenge: headers['www-authenticate'], text: raw.toString().replaceAll(name, secret) }
  }
  for (const path of paths) expect(await ask(path, empty)).toEqual(await ask(path, secret))
  expect(paths.length).toBeGreaterThan(20)
})

it('is excluded from all lists, counts and links, also in GraphQL', async () => {
  const { app, alice } = await prepare()
  await using _app = app
  await publish(alice, dependent('user', '1.0.0', [empty]))
  await publish(alice, { name: 'old_shell', version: '1.0.0' })
  await makePublic(app, 'user', 'old_shell')
  await alice.put('/api/packages/old_shell/options', { isDiscontinued: true, replacedBy: empty })
  const { id } = (await alice.graphql(`{ package(name: "${empty}") { id } }`)).body.data.package
  const { body } = await app.anonymous.graphql(
    `query ($id: ID!) { package(name: "${empty}") { name } node(id: $id) { id } packages(first: 9) { totalCount nodes { name } } packageNames(withUnlisted: true)
      searchPackages(first: 9) { totalCount nodes { name } } completePackageNames(prefix: "hollow", first: 9)
      old: package(name: "old_shell") { replacedBy replacement { name } } user: package(name: "user") { latest { dependencies { name isBare package { name } } } } }`,
    { id },
  )
  expect(body.errors).toBeUndefined()
  const both = ['old_shell', 'user']
  expect(body.data).toMatchObject({
    package: null,
    node: null,
    packages: { totalCount: 2, nodes: both.map((name) => ({ name })) },
    packageNames: both,
    searchPackages: { totalCount: 2 },
    completePackageNames: [],
    old: { replacedBy: null, replacement: null },
    user: { latest: { dependencies: [{ name: empty, isBare: false, package: null }] } },
  })
  const listing = await app.anonymous.get('/api/packages/old_shell')
  expect(listing.body).toMatchObject({ isDiscontinued: true })
  expect(listing.body).not.toHaveProperty('replacedBy')
  // The pubspec of `user` names the package.
  expect((await app.anonymous.get('/api/packages')).body).toMatchObject({ totalCount: 2, packages: both.map((name) => ({ name })) })
  for (const path of ['/api/package-names', '/api/package-name-completion-data', '/feed.atom'])
    expect((await app.anonymous.get(path)).raw.toString()).not.toContain(empty)
})

it('returns an empty feed, not a 404, for a package whose only readable version is retracted', async () => {
  const { app, alice } = await prepare()
  await using _app = app
  await publish(alice, { name: 'calm', version: '1.0.0' })
  expect((await alice.put('/api/packages/calm/visibility', { visibility: 'public', confirm: 'calm' })).status).toBe(200)
  await alice.put('/api/packages/calm/versions/1.0.0/options', { isRetracted: true })
  for (const path of ['/api/packages/calm', '/packages/calm/badges/version.svg', '/packages/calm/feed.atom'])
    expect({ path, status: (await app.anonymous.get(path)).status }).toEqual({ path, status: 200 })
})
