import { expect, it } from 'vitest'
import type { Actor, Answer } from '../actor.ts'
import { documentVersion } from '../support/docs.ts'
import { writeDownloads } from '../support/downloads.ts'
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
