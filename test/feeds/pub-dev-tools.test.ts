import { expect, it } from 'vitest'
import type { Actor, Answer } from '../actor.ts'
import { testApp } from '../app.ts'
import { documentVersion } from '../support/docs.ts'
import { writeDownloads } from '../support/downloads.ts'
import { packageArchive } from '../support/archive.ts'
import { PubClient } from '../support/pub-client.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

/** Sends the requests of `pub_dev_search` of Dart's MCP server. Throws where the tool fails: if a value is missing or has another type. */
async function searchAsAgent(actor: Actor, query: string) {
  const required = ({ status, body }: Answer) => {
    expect(status).toBe(200)
    return body
  }
  const found = required(await actor.get(`/api/search?${new URLSearchParams({ q: query })}`)).packages as { package: string }[]
  const describe = async ({ package: name }: { package: string }) => {
    const { latest } = required(await actor.get(`/api/packages/${name}`))
    expect(latest).toMatchObject({ version: expect.any(String), pubspec: { description: expect.any(String) } })
    const score = required(await actor.get(`/api/packages/${name}/score`))
    for (const field of ['grantedPoints', 'maxPoints', 'likeCount', 'downloadCount30Days'])
      expect({ name, [field]: score[field] }).toEqual({ name, [field]: expect.any(Number) })
    const index = await actor.get(`/documentation/${name}/latest/index.json`)
    const elements = index.status === 200 ? (index.body as { name: string; enclosedBy?: object }[]) : []
    const libraries = elements.filter(({ enclosedBy }) => !enclosedBy).map((one) => one.name)
    const topics = (score.tags as string[]).filter((tag) => tag.startsWith('topic:'))
    return { name, version: latest.version, libraries, downloads: score.downloadCount30Days, topics }
  }
  return Promise.all(found.slice(0, 10).map(describe))
}

it('gives agents the same facts with and without signing in, except download counts', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: 'topics: [network, http]' })
  await publish(alice, { name: 'acme_dev', version: '1.0.0-dev.1' })
  await makePublic(app, 'acme', 'acme_dev')
  await documentVersion(app, 'acme', '1.0.0')
  await alice.get('/api/archives/acme-1.0.0.tar.gz')
  await writeDownloads(app)
  const acme = { name: 'acme', version: '1.0.0', libraries: ['extras', 'shapes'], topics: ['topic:network', 'topic:http'] }
  const dev = { name: 'acme_dev', version: '1.0.0-dev.1', libraries: [], topics: [], downloads: 0 }
  const facts = (downloads: number) => [{ ...acme, downloads }, dev]
  for (const query of ['acme', 'acme package', 'is:public', '"acme" -topic:absent']) {
    const byName = async (actor: Actor) => (await searchAsAgent(actor, query)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect({ query, found: await byName(alice) }).toEqual({ query, found: facts(1) })
    expect({ query, found: await byName(app.anonymous) }).toEqual({ query, found: facts(0) })
  }
  for (const path of ['acme/score', 'acme/versions/1.0.0/score', 'acme_dev/score', 'acme_dev/versions/1.0.0-dev.1/score'])
    expect((await app.anonymous.get(`/api/packages/${path}`)).body).toMatchObject({ downloadCount30Days: 0 })
  expect((await alice.get('/api/packages/acme/versions/1.0.0/score')).body).toMatchObject({ downloadCount30Days: 1 })
})

it('counts the packages of each topic, most frequent topic first', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  const topics = { acme: 'network, http', beta: 'network', hidden: 'network, secret-plans', quiet: 'network, unlisted' }
  const counts = async (actor: Actor) => {
    const { status, body } = await actor.get('/api/topic-name-completion-data', { headers: { accept: 'application/json' } })
    expect(status).toBe(200)
    return Object.entries(body as object)
  }
  expect(await counts(alice)).toEqual([])
  for (const [name, list] of Object.entries(topics)) await publish(alice, { name, version: '1.0.0', pubspec: `topics: [${list}]` })
  await publish(alice, { name: 'plain', version: '1.0.0' })
  await alice.put('/api/packages/quiet/options', { isUnlisted: true })
  await makePublic(app, 'acme', 'beta', 'quiet', 'plain')
  const common = [
    ['network', 2],
    ['http', 1],
  ]
  expect(await counts(alice)).toEqual([
    ['network', 3],
    ['http', 1],
    ['secret-plans', 1],
  ])
  expect(await counts(app.anonymous)).toEqual(common)
  expect(await app.withToken('svc_pat_wrong').get('/api/topic-name-completion-data')).toMatchObject({ status: 401 })
})

it('requires signing in to answer whether the caller likes a public package', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await makePublic(app, 'acme')
  for (const name of ['acme', 'absent'])
    expect(await app.anonymous.get(`/api/account/likes/${name}`)).toMatchObject({
      status: 401,
      body: { error: { code: 'MissingAuthentication' } },
    })
  expect(await alice.get('/api/account/likes/acme')).toMatchObject({ status: 200, body: { package: 'acme', liked: false } })
})

it('links next pages below the path of SERVER_URL, with the scheme of the client and the same query', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'http://example.com/tools/pub', TRUST_PROXY: 'true' } })
  const alice = await app.member()
  const token = alice.secret ?? ''
  const pub = new PubClient({ hostedUrl: 'http://example.com/tools/pub', address: `${await app.listen()}/tools/pub`, token })
  for (let number = 10; number < 61; number++) await pub.publish(await packageArchive({ name: `pkg_${number}`, version: '1.0.0' }))
  const schemes = { http: {}, https: { ip: '127.0.0.1', headers: { 'x-forwarded-proto': 'https' } } }
  for (const [scheme, options] of Object.entries(schemes)) {
    const get = async (path: string) => (await alice.get(`/tools/pub${path}`, options)).body
    const here = `${scheme}://example.com/tools/pub`
    expect(await get('/api/packages')).toMatchObject({ next_url: `${here}/api/packages?page=2` })
    expect(await get('/api/packages?page=2')).toMatchObject({ next_url: null, packages: [{ name: 'pkg_60' }] })
    expect(await get('/packages.json?page=1')).toMatchObject({ next: `${here}/packages.json?page=2` })
    for (const q of [
      '',
      'q=',
      'q=made+%26+pkg',
      'q=made%3F',
      'q=made?',
      'q=made?&sort=name',
      'q=%23made%3D',
      'q=%C3%A4+made',
      'q=a%2Bb+made',
      'q=100%25+made',
      'q=made&x=1&x=2',
      'q=%22made%22',
    ]) {
      const first = await get(`/api/search?${q}`)
      expect({ q, count: first.packages.length, address: first.next.split('?')[0] }).toEqual({
        q,
        count: 50,
        address: `${here}/api/search`,
      })
      expect({ q, sent: [...new URL(first.next).searchParams] }).toEqual({ q, sent: [...new URLSearchParams(q), ['page', '2']] })
      const rest = await get(first.next.slice(here.length))
      const names = [...first.packages, ...rest.packages].map((one) => one.package)
      expect({ q, next: rest.next, count: new Set(names).size }).toEqual({ q, next: undefined, count: 51 })
    }
  }
})
