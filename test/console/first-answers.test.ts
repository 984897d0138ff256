import { expect, it } from 'vitest'
import { readDocuments } from '../../server/platform/graphql/trusted-documents.ts'
import type { Actor, Answer } from '../actor.ts'
import { testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { acme } from '../support/publishers.ts'

const documents = readDocuments()
const html = { accept: 'text/html,*/*;q=0.8' }
const open = (actor: Actor, path: string, headers: Record<string, string> = {}) => actor.get(path, { headers: { ...html, ...headers } })

type Embedded = { session: string; answers: { hash: string; variables: object; data: Record<string, unknown> }[] }

function embeddedIn({ body }: Answer): Embedded {
  const [, json = ''] = /<script type="application\/json" id="first-answers">(.*?)<\/script>/s.exec(body as string) ?? []
  return JSON.parse(json) as Embedded
}

/** Returns the data of the embedded answers by the name of the query. */
const answersIn = (page: Answer): Record<string, Record<string, unknown>> =>
  Object.fromEntries(embeddedIn(page).answers.map(({ hash, data }) => [/^query (\w+)/.exec(documents.get(hash) ?? '')?.[1], data]))

it('embeds the answers that the caller of the page would get from the API, and the files of the page', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'README.md': '# Acme\n\n<p>"</script><!--"</p>\n' } })
  const browser = await alice.session()
  const page = await open(browser, '/packages/acme')
  expect(page).toMatchObject({ status: 200, headers: { 'cache-control': 'private, no-store' } })
  expect(answersIn(page)).toMatchObject({
    Session: { viewer: { email: alice.email }, setup: { needsSetup: false } },
    Package: { package: { name: 'acme', displayedVersion: { version: '1.0.0' } } },
    VersionDocument: { package: { displayedVersion: { readme: { path: 'README.md' } } } },
  })
  for (const { hash, variables, data } of embeddedIn(page).answers) {
    const answer = await browser.post('/graphql', { extensions: { persistedQuery: { version: 1, sha256Hash: hash } }, variables })
    expect(answer.body.data).toEqual(data)
  }
  expect(browser.csrf.endsWith(embeddedIn(page).session) && embeddedIn(page).session.length).toBe(8)
  const files = [...page.body.matchAll(/<link rel="modulepreload" crossorigin href="\.(\/assets\/[^"]+)">/g)].map(
    ([, path]) => path as string,
  )
  expect(files.length).toBeGreaterThan(0)
  for (const file of files) expect((await app.anonymous.get(file)).status).toBe(200)
})

it('embeds nothing that the caller may not see', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const signedOut = await open(app.anonymous, '/packages/acme')
  expect([signedOut.status, Object.keys(answersIn(signedOut))]).toEqual([200, ['Session']])
  expect(answersIn(await open(await alice.session(), '/admin'))).toEqual({ Session: expect.any(Object) })
  expect(Object.keys(answersIn(await open(await (await app.admin()).session(), '/admin')))).toContain('Statistics')
  const newcomer = await app.member({ mustChangePassword: true })
  expect(Object.keys(answersIn(await open(await newcomer.session(), '/packages')))).toEqual(['Session'])
  await using fresh = await testApp({ setUp: false })
  expect(answersIn(await open(fresh.anonymous, '/'))).toEqual({ Session: expect.objectContaining({ viewer: null }) })
})

it('embeds nothing for a token, an invalid one included, and for HEAD', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const plain = { status: 200, headers: { 'cache-control': 'no-cache' } }
  for (const actor of [alice, app.withToken('svc_pat_wrong')]) {
    const page = await open(actor, '/packages')
    expect(page).toMatchObject(plain)
    expect(embeddedIn(page).answers).toEqual([])
  }
  expect(await (await alice.session()).head('/packages', { headers: html })).toMatchObject({ ...plain, body: '' })
})

it('answers 404 for packages and versions that do not exist or are hidden from the caller', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['acme', 'secret']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'acme')
  const statusesFor = (actor: Actor, ...paths: string[]) => Promise.all(paths.map(async (path) => (await open(actor, path)).status))
  const paths = [
    '/packages/acme',
    '/packages/acme/versions/1.0.0',
    '/packages/acme/score',
    '/packages/acme/versions/9.0.0',
    '/packages/nope',
  ]
  expect(await statusesFor(app.anonymous, ...paths, '/packages/secret')).toEqual([200, 200, 200, 404, 404, 404])
  expect(await statusesFor(await alice.session(), ...paths, '/packages/secret')).toEqual([200, 200, 200, 404, 404, 200])
  const [missing, hidden] = [await open(app.anonymous, '/packages/nope'), await open(app.anonymous, '/packages/secret')]
  expect(hidden.body.replaceAll('secret', 'nope')).toBe(missing.body)
})

it('answers 404 for publishers that do not exist, and to administrators for people who do not exist', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await admin.post('/api/publishers', acme)
  const [member, administrator] = [await alice.session(), await admin.session()]
  const statusesFor = (actor: Actor, ...paths: string[]) => Promise.all(paths.map(async (path) => (await open(actor, path)).status))
  const publishers = ['acme', 'acme/members', 'nope', 'nope/members', 'verify'].map((path) => `/publishers/${path}`)
  expect(await statusesFor(member, ...publishers)).toEqual([200, 200, 404, 404, 200])
  const people = [alice.id, crypto.randomUUID(), 'unknown'].map((id) => `/admin/users/${id}`)
  expect(await statusesFor(administrator, ...people)).toEqual([200, 404, 404])
  // Other callers do not learn who exists.
  for (const actor of [member, app.anonymous]) expect(await statusesFor(actor, ...people)).toEqual([200, 200, 200])
})

it('counts toward the rate limit of queries, and serves the page without answers when it is exceeded', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const remaining = async () =>
    (await browser.post('/graphql', { query: '{ rateLimit { remaining } }' })).body.data.rateLimit.remaining as number
  const before = await remaining()
  expect(Object.keys(answersIn(await open(browser, '/packages')))).toEqual(expect.arrayContaining(['Session', 'SearchPackages']))
  expect(await remaining()).toBe(before - 2)
  for (let left = before - 2; left > 0; left--) await app.services.limits.use('graphql', browser.id)
  const page = await open(browser, '/packages')
  expect([page.status, embeddedIn(page).answers]).toEqual([200, []])
})

it('serves the page without answers if the database fails', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const rename = (from: string, to: string) => app.services.database.fork().execute(`alter table ${from} rename to ${to}`)
  await rename('users', 'away')
  const page = await open(browser, '/packages')
  await rename('away', 'users')
  expect(page).toMatchObject({ status: 200, headers: { 'cache-control': 'no-cache' } })
  expect(embeddedIn(page).answers).toEqual([])
})

it('ignores invalid names and versions in the path, and queries that depend on the query string', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const names = async (path: string) => Object.keys(answersIn(await open(browser, path)))
  expect(await names('/packages/acme/versions/not-a-version')).toEqual(['Session'])
  expect(await names('/packages?q=http')).toEqual(['Session'])
  const { body } = await open(browser, '/packages/%3Cb%3E')
  expect([body.includes('<b>'), body.includes('\\u003cb>')]).toEqual([false, true])
})
