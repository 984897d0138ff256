import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { renderText, trimRendered } from '../../server/registry/markdown/service.ts'
import { testApp, type TestApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { cpuMsOf, longestTurnMs } from '../support/cpu-time.ts'
import { finish, publish, upload } from '../support/publish.ts'

const hostile: [name: string, text: string][] = [
  ['bold', '<b><i>'.repeat(42_000)],
  ['drawing', '<svg><g>'.repeat(32_000)],
  ['headings', '# a\n'.repeat(16_000)],
]

async function withReadme(app: TestApp, name: string, readme: string) {
  const alice = await app.member()
  await finish(alice, await upload(alice, await packageArchive({ name, version: '1.0.0', files: { 'README.md': readme } })))
  return alice
}

const htmlOf = (name: string) => `{ package(name: "${name}") { latest { readme { html } } } }`

it('answers requests for hostile texts, and other requests in the meantime', async () => {
  await using app = await testApp()
  const readers = await Promise.all(
    hostile.map(async ([name, text]) => ({ name, alice: await withReadme(app, name, `${name}\n\n${text}`) })),
  )
  const asking = Promise.all(readers.map(({ name, alice }) => alice.graphql(htmlOf(name))))
  const watching = longestTurnMs(asking)
  expect(await app.anonymous.get('/api/v1/health')).toMatchObject({ status: 200 })
  // Either rendered or as source. Sanitizing removes everything but the name from a rendered drawing.
  for (const [index, { body }] of (await asking).entries()) expect(body.data.package.latest.readme.html).toContain(hostile[index]?.[0])
  expect(await watching).toBeLessThan(1000)
  // Texts that exceeded the time limit are not rendered again.
  const askAgain = async () => {
    for (const { name, alice } of readers) expect((await alice.graphql(htmlOf(name))).status).toBe(200)
  }
  expect(await cpuMsOf(askAgain)).toBeLessThan(1500)
})

it('renders all texts that one query may request', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const textsOf = (minor: number) => ({ 'README.md': `# About ${minor}`, 'CHANGELOG.md': `# News of ${minor}` })
  for (let minor = 0; minor < 80; minor++) await publish(alice, { name: 'acme', version: `1.${minor}.0`, files: textsOf(minor) })
  const { status, body } = await alice.graphql(
    '{ package(name: "acme") { versions(first: 100) { nodes { readme { html } changelog { html } } } } }',
  )
  expect({ status, errors: body.errors }).toEqual({ status: 200, errors: undefined })
  expect(body.data.package.versions.nodes).toHaveLength(80)
})

it('caches rendered texts by content for all packages, instances and restarts', async () => {
  await using app = await testApp()
  const alice = await withReadme(app, 'first', '# The same **text**')
  await withReadme(app, 'second', '# The same **text**')
  const kept = () => app.services.database.reads.all<{ hash: string; html: string }>('select hash, html from rendered_texts')
  for (const name of ['first', 'second'])
    expect((await alice.graphql(htmlOf(name))).body.data.package.latest.readme.html).toContain('<strong>text</strong>')
  const [row, ...further] = await kept()
  expect(further).toEqual([])
  expect(row?.html).toContain('<strong>text</strong>')
  const draft = { source: 'A *draft*', links: { kind: 'whole' as const } }
  const caller = { ...app.services, viewer: null, ip: '203.0.113.9' }
  expect(await renderText(caller, draft, { persist: false })).toContain('<em>draft</em>')
  expect(await kept()).toHaveLength(1)
  await trimRendered(app.services.database.fork(), 10)
  expect(await kept()).toEqual([])
})

it('answers 503 in REST and GraphQL when a text would wait too long for others', async () => {
  await using app = await testApp()
  const graphqlReader = await withReadme(app, 'asked', '# One text')
  const restReader = await withReadme(app, 'fetched', '# Another text')
  const lookUps = () => app.queries.filter((sql) => sql.includes('from "rendered_texts"')).length
  // Worker threads and the database use real time.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const others = Array.from({ length: 12 }, (_, index) => {
      const caller = { ...app.services, viewer: null, ip: `203.0.113.${index}` }
      return renderText(caller, { source: `${'<b><i>'.repeat(42_000)}${index}`, links: { kind: 'whole' } }, { persist: false })
    })
    const state = { areOthersDone: false }
    const settled = Promise.allSettled(others).then(() => (state.areOthersDone = true))
    const asking = graphqlReader.graphql(htmlOf('asked'))
    const fetching = restReader.get('/api/packages/fetched/versions/1.0.0/content')
    while (lookUps() < 2) await sleep(5)
    await sleep(200)
    await vi.advanceTimersByTimeAsync(21_000)
    const [asked, fetched] = await Promise.all([asking, fetching])
    expect(asked.body.errors).toMatchObject([{ extensions: { code: 'ServiceUnavailable', retryAfter: 5 } }])
    expect(fetched).toMatchObject({ status: 503, body: { error: { code: 'ServiceUnavailable' } } })
    for (const { headers } of [asked, fetched]) expect(headers['retry-after']).toBe('5')
    // The text that is being rendered exceeds its deadline.
    for (; !state.areOthersDone; await sleep(50)) await vi.advanceTimersByTimeAsync(1500)
    await settled
  } finally {
    vi.useRealTimers()
  }
  expect((await graphqlReader.graphql(htmlOf('asked'))).body.data.package.latest.readme.html).toContain('One text')
})
