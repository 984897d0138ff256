import { expect, it } from 'vitest'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

type Page = { edges: { node: Record<string, unknown> }[]; pageInfo: { hasNextPage: boolean; endCursor: string } }
type List = { list: string; orders?: string[]; node?: string; args?: string; within?: [string, string] }

/** Lists with a direction. `within`: the fields around the list. */
const lists: List[] = [
  { list: 'users', orders: ['CREATED', 'EMAIL'] },
  { list: 'sessions', orders: ['CREATED', 'LAST_USED'] },
  { list: 'accessTokens', orders: ['CREATED', 'EXPIRES'] },
  { list: 'managedPackages', orders: ['NAME', 'SIZE', 'VERSIONS', 'UPDATED'], node: 'package { name }' },
  { list: 'searchPackages', orders: ['PUBLISHED', 'UPDATED', 'CREATED', 'DOWNLOADS', 'LIKES', 'SCORE', 'NAME'] },
  { list: 'searchPackages', args: ', query: "a package"', orders: ['PUBLISHED', 'UPDATED', 'DOWNLOADS', 'NAME'] },
  { list: 'packages', orders: ['NAME', 'PUBLISHED'], within: ['viewer {', '}'] },
  { list: 'auditEntries' },
  { list: 'jobs', args: ', kind: "test"' },
  { list: 'versions', within: ['package(name: "bee") {', '}'] },
  { list: 'activity', within: ['package(name: "bee") {', '}'] },
  { list: 'activity', within: ['publisher(slug: "acme") {', '}'] },
  ...['activity', 'securityHistory', 'tokens', 'sessions'].map((list): List => ({ list, within: ['viewer {', '}'] })),
]

/** Returns all nodes of a list, page by page. Its queries do not count toward the rate limit. */
async function nodesOf(
  { services }: TestApp,
  who: Actor,
  { list, node = 'id', args = '', within = ['', ''] }: List,
  sort: string,
  first: number,
) {
  const query = `query ($after: String) { ${within[0]} ${list}(first: ${first}, after: $after${args}${sort}) { edges { node { ${node} } } pageInfo { hasNextPage endCursor } } ${within[1]} }`
  const nodes: string[] = []
  for (let after: string | null = null; ;) {
    const { body } = await who.graphql(query, { after })
    await services.limits.refund('graphql', who.id)
    expect(body.errors).toBeUndefined()
    const page: Page = within[0] ? (Object.values(body.data)[0] as Record<string, Page>)[list] : body.data[list]
    nodes.push(...page.edges.map((edge) => JSON.stringify(edge.node)))
    if (!page.pageInfo.hasNextPage) return nodes
    after = page.pageInfo.endCursor
  }
}

/** Adds several objects of each list, some with equal sort values. Returns their owner, an administrator. */
async function fill(app: TestApp): Promise<Actor> {
  const admin = await app.admin()
  for (const email of ['b@example.com', 'C@example.com', 'a@example.com']) await app.member({ email })
  for (const days of [30, 1, 30, 7]) await admin.post('/api/auth/keys', { name: `${days}`, expiresInDays: days })
  for (const name of ['ant', 'bee', 'cat', 'dog']) await publish(admin, { name, version: '1.0.0' })
  for (const version of ['1.1.0', '1.2.0-dev', '0.9.0']) await publish(admin, { name: 'bee', version })
  await admin.put('/api/packages/dog/like')
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await admin.put(`/api/publishers/acme`, { displayName: 'Acme Inc.' })
  for (let count = 0; count < 3; count++) await admin.session()
  await app.services.database.fork().transactional(async (em) => {
    for (const subject of ['a', 'b', 'c']) await enqueue(em, { kind: 'test', subject }, app.services.now())
  })
  return admin
}

it('pages through every list in both directions', async () => {
  await using app = await testApp({ now: new Date('2026-03-01T00:00:00Z') })
  const admin = await fill(app)
  for (const list of lists) {
    for (const order of list.orders ?? ['']) {
      const by = order && `, orderBy: ${order}`
      const ascending = await nodesOf(app, admin, list, `${by}, direction: ASC`, 100)
      const described = { list: list.list, order, within: list.within }
      expect({ ...described, count: ascending.length }).not.toMatchObject({ count: expect.toBeOneOf([0, 1]) })
      expect(new Set(ascending).size).toBe(ascending.length)
      const descending = ascending.toReversed()
      for (const first of [1, 4]) {
        expect({ ...described, first, nodes: await nodesOf(app, admin, list, `${by}, direction: ASC`, first) }).toMatchObject({
          nodes: ascending,
        })
        expect({ ...described, first, nodes: await nodesOf(app, admin, list, `${by}, direction: DESC`, first) }).toMatchObject({
          nodes: descending,
        })
      }
      const isAscending = ['NAME', 'EMAIL', 'EXPIRES'].includes(order)
      expect({ ...described, nodes: await nodesOf(app, admin, list, by, 100) }).toMatchObject({
        nodes: isAscending ? ascending : descending,
      })
    }
  }
})

it('sorts tokens that never expire after all others, also by descending expiry', async () => {
  await using app = await testApp({ now: new Date('2026-03-01T00:00:00Z') })
  const admin = await fill(app)
  const tokens = { list: 'accessTokens', node: 'name', args: `, user: { email: "${admin.email}" }` }
  const names = (await nodesOf(app, admin, tokens, ', orderBy: EXPIRES, direction: DESC', 2)).map((node) => JSON.parse(node).name)
  expect(names).toEqual(['test', '30', '30', '7', '1'])
})

it('rejects a direction of relevance', async () => {
  await using app = await testApp()
  const search = (args: string) => app.anonymous.graphql(`{ searchPackages(first: 1, ${args}) { nodes { name } } }`)
  const admin = await app.admin()
  for (const args of ['orderBy: RELEVANCE, direction: ASC', 'query: "acme", direction: DESC', 'orderBy: RELEVANCE, direction: DESC']) {
    const { body } = await admin.graphql(`{ searchPackages(first: 1, ${args}) { nodes { name } } }`)
    expect(body.errors[0]).toMatchObject({ extensions: { code: 'InvalidInput', field: 'direction' } })
  }
  expect((await admin.graphql('{ searchPackages(first: 1, direction: ASC) { nodes { name } } }')).body.errors).toBeUndefined()
  expect((await search('direction: ASC')).body.errors[0].extensions.code).toBe('MissingAuthentication')
})
