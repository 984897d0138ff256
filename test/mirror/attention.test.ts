import { expect, it } from 'vitest'
import { diagnose } from '../../server/operations/checks/doctor/doctor.ts'
import { saveDecisions } from '../../server/registry/mirror/decisions.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { environmentOf } from '../support/admin.ts'
import { failWith } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

type Item = { kind: string; severity: string; count: number; at: string | null; text: string }

const itemsOf = async (admin: Actor): Promise<Item[]> =>
  ((await admin.graphql('{ attention { kind severity count at text } }')).body.data.attention as Item[]).filter(({ kind }) =>
    kind.startsWith('MIRROR_'),
  )

it('reports an upstream server that has not answered for more than 10 minutes, until it answers', async () => {
  const upstream = await Upstream.start()
  const start = new Date('2026-03-01T08:00:00Z')
  await using app = await testApp({ alone: true, now: start, env: { UPSTREAM_URL: upstream.url } })
  const admin = await app.admin()
  const after = (minutes: number) => (app.clock.now = new Date(start.getTime() + minutes * 60_000))
  upstream.publish('intl', '1.0.0')
  for (const name of ['intl', 'other']) upstream.fail(`/api/packages/${name}`, failWith(503))
  await admin.get('/mirror/api/packages/intl')
  after(9)
  await admin.get('/mirror/api/packages/intl')
  expect(await itemsOf(admin)).toEqual([])
  after(11)
  expect(await itemsOf(admin)).toEqual([
    {
      kind: 'MIRROR_UPSTREAM_AWAY',
      severity: 'WARNING',
      count: 1,
      at: start.toISOString(),
      text: `${upstream.url} does not answer (status 503). Only packages in the mirror can be used.`,
    },
  ])
  upstream.heal('/api/packages/intl')
  expect(await admin.get('/mirror/api/packages/intl')).toMatchObject({ status: 200 })
  expect(await itemsOf(admin)).toEqual([])
})

it('does not count an unusable archive as an upstream server that is away, and reports faults of the last day', async () => {
  const upstream = await Upstream.start()
  const start = new Date('2026-03-01T08:00:00Z')
  await using app = await testApp({ alone: true, now: start, env: { UPSTREAM_URL: upstream.url } })
  const admin = await app.admin()
  upstream.publish('intl', '1.0.0')
  await admin.get('/mirror/api/packages/intl')
  upstream.fail('/api/archives/intl-1.0.0.tar.gz', (_request, response) => response.writeHead(200).end('another archive'))
  await admin.get('/mirror/api/archives/intl-1.0.0.tar.gz')
  await saveDecisions(app.services)
  app.clock.now = new Date(start.getTime() + 3_600_000)
  expect(await itemsOf(admin)).toMatchObject([
    { kind: 'MIRROR_FAULTS', severity: 'WARNING', count: 1, text: expect.stringContaining('SHA-256') },
  ])
  app.clock.now = new Date(start.getTime() + 25 * 3_600_000)
  expect(await itemsOf(admin)).toEqual([])
})

it('checks in `doctor` whether the upstream server answers, only if there is a mirror', async () => {
  const upstream = await Upstream.start()
  await using app = await testApp({ env: { UPSTREAM_URL: upstream.url } })
  const check = async (environment: Record<string, string>) =>
    (await diagnose(environment, { quick: true })).checks.filter(({ name }) => name === 'mirror')
  expect(await check(environmentOf(app))).toMatchObject([
    { status: 'ok', message: `The upstream server ${upstream.url} answers (status 200).` },
  ])
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
  await upstream.stop()
  expect(await check(environmentOf(app))).toMatchObject([
    { status: 'warning', message: expect.stringContaining(`The upstream server ${upstream.url} does not answer: `) },
  ])
  expect(await check({ ...environmentOf(app), UPSTREAM_URL: '' })).toEqual([])
})
