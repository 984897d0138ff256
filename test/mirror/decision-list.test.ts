import { expect, it } from 'vitest'
import { countDecision, type Decision, saveDecisions } from '../../server/registry/mirror/decisions.ts'
import type { Answer } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'

const start = new Date('2026-11-26T12:00:00Z')
const mirroring = { env: { UPSTREAM_URL: 'https://pub.dev' }, now: start }
const path = '/api/admin/mirror/decisions'

const denied: Decision = { outcome: 'refused', rule: 'packages', packageName: 'http', version: '1.0.0', reason: 'Denied.', userId: null }

/** Records decisions a minute apart. */
async function record(app: TestApp, decisions: readonly Partial<Decision>[]): Promise<void> {
  for (const changes of decisions) {
    app.clock.now = new Date((app.clock.now ?? start).getTime() + 60_000)
    countDecision(app.services, {
      ...denied,
      ...changes,
    })
    await saveDecisions(app.services)
  }
}

it('lists decisions, the last repeated first, and filters them', async () => {
  await using app = await testApp(mirroring)
  const [admin, alice] = [await app.admin(), await app.member()]
  await record(app, [
    { userId: alice.id },
    { outcome: 'audited', rule: 'minimumAge', packageName: 'path_provider', reason: 'Young.' },
    { outcome: 'fault', rule: 'listing', packageName: 'path', version: '' },
    { userId: alice.id },
  ])
  const { body } = await admin.get(path)
  const person = { userId: alice.id, email: alice.email, displayName: alice.user.displayName }
  expect(body).toMatchObject({ page: 1, totalCount: 3 })
  expect(body.decisions).toEqual([
    {
      id: expect.any(String),
      outcome: 'refused',
      rule: 'packages',
      packageName: 'http',
      version: '1.0.0',
      reason: 'Denied.',
      user: person,
      count: 2,
      firstAt: '2026-11-26T12:01:00.000Z',
      lastAt: '2026-11-26T12:04:00.000Z',
    },
    expect.objectContaining({ outcome: 'fault', packageName: 'path', version: null, user: null, count: 1 }),
    expect.objectContaining({ outcome: 'audited', packageName: 'path_provider', reason: 'Young.' }),
  ])
  const names = async (query: string) =>
    (await admin.get(`${path}?${query}`)).body.decisions.map(({ packageName }: { packageName: string }) => packageName)
  expect(await names('q=PATH')).toEqual(['path', 'path_provider'])
  expect(await names('q=h_p')).toEqual(['path_provider'])
  expect(await names('q=%25')).toEqual([])
  expect(await names('outcome=audited')).toEqual(['path_provider'])
  expect(await names('rule=packages&outcome=refused&q=t')).toEqual(['http'])
  expect(await names('rule=packages&outcome=audited')).toEqual([])
  for (const query of ['outcome=other', `rule=${'x'.repeat(33)}`, 'page=0'])
    expect(await admin.get(`${path}?${query}`)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})

it('pages through decisions of the same moment without repeating or skipping any', async () => {
  await using app = await testApp(mirroring)
  const admin = await app.admin()
  const versions = Array.from({ length: 7 }, (_, index) => `1.0.${index}`)
  for (const version of versions) countDecision(app.services, { ...denied, version })
  await saveDecisions(app.services)
  const query = `query ($after: String) { mirrorDecisions(first: 3, after: $after) { nodes { version } pageInfo { hasNextPage endCursor } totalCount } }`
  const seen: string[] = []
  for (let after: string | null = null; ;) {
    const answer: Answer = await admin.graphql(query, { after })
    const { nodes, pageInfo, totalCount } = answer.body.data.mirrorDecisions
    expect(totalCount).toBe(7)
    seen.push(...nodes.map(({ version }: { version: string }) => version))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  expect(seen.toSorted()).toEqual(versions)
  expect((await admin.graphql(query, { after: 'bm9uc2Vuc2U' })).body.errors[0].extensions).toMatchObject({
    code: 'InvalidInput',
    field: 'after',
  })
})

it('counts requests, packages and people of the last 30 days by rule and outcome', async () => {
  await using app = await testApp(mirroring)
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  await record(app, [{ rule: 'licenses', packageName: 'old' }])
  app.clock.now = new Date(start.getTime() + 31 * 86_400_000)
  await record(app, [
    { userId: alice.id },
    { userId: alice.id },
    { userId: bob.id },
    { userId: bob.id, packageName: 'path' },
    {},
    { outcome: 'audited', userId: bob.id },
  ])
  const { body } = await admin.graphql('{ mirrorPolicyEffects { rule outcome requests packages people } }')
  expect(body.data.mirrorPolicyEffects).toEqual([
    { rule: 'packages', outcome: 'AUDITED', requests: 1, packages: 1, people: 1 },
    { rule: 'packages', outcome: 'REFUSED', requests: 5, packages: 2, people: 2 },
  ])
})
