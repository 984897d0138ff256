import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'

const page = `query ($after: String, $first: Int!) { me { securityHistory(first: $first, after: $after) { totalCount nodes { id kind summary clientIp } pageInfo { hasNextPage endCursor } } } }`
const historyOf = async (who: Actor, first = 50, after: string | null = null) =>
  (await who.graphql(page, { first, after })).body.data.me.securityHistory
const kinds = ({ nodes }: { nodes: { kind: string }[] }) => nodes.map(({ kind }) => kind)

it('shows users what happened to their account and nothing else', async () => {
  await using app = await testApp()
  const [admin, alice, bob] = [await app.admin(), await app.member({ displayName: 'Alice' }), await app.member()]
  await app.anonymous.post('/api/auth/login', { email: alice.email, password: 'not hers at all' }, { ip: '198.51.100.9' })
  const browser = await alice.session()
  const { body } = await browser.post('/api/auth/keys', { name: 'ci' })
  await browser.delete(`/api/auth/keys/${body.id}`)
  await browser.post('/api/auth/sessions/revoke-others')
  await browser.post('/api/auth/logout')
  await admin.put(`/api/admin/users/${alice.id}`, { displayName: 'Alice A.' })
  await admin.post(`/api/admin/users/${alice.id}/reset-password`)
  await bob.session()
  const history = await historyOf(alice)
  expect(kinds(history)).toEqual([
    'user.password_reset',
    'user.updated',
    'session.revoked',
    'token.revoked',
    'token.created',
    'user.login',
    'user.login_failed',
  ])
  // The address of another user who acted is hidden. A failed attempt shows its origin.
  const addresses = history.nodes.map(({ clientIp }: { clientIp: string | null }) => clientIp)
  expect(addresses).toEqual([null, null, alice.ip, alice.ip, alice.ip, alice.ip, '198.51.100.9'])
  expect(kinds(await historyOf(bob))).toEqual(['user.login'])
})

it('is paged and hidden from others', async () => {
  await using app = await testApp()
  const [alice, mallory, admin] = [await app.member(), await app.member(), await app.admin()]
  for (let time = 0; time < 3; time++) await alice.session()
  const first = await historyOf(alice, 2)
  expect(first).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } })
  const rest = await historyOf(alice, 2, first.pageInfo.endCursor)
  expect(new Set([...first.nodes, ...rest.nodes].map(({ id }) => id)).size).toBe(3)
  const entry = 'query ($id: ID!) { node(id: $id) { ... on AuditEntry { kind } } }'
  const { id } = first.nodes[0]
  expect((await alice.graphql(entry, { id })).body.data.node).toEqual({ kind: 'user.login' })
  expect((await mallory.graphql(entry, { id })).body.data.node).toBeNull()
  expect((await admin.graphql(entry, { id })).body.data.node).toEqual({ kind: 'user.login' })
  const others = 'query ($id: ID!) { user(uuid: $id) { securityHistory(first: 5) { totalCount } } }'
  expect((await admin.graphql(others, { id: alice.id })).body.data.user.securityHistory).toEqual({ totalCount: 3 })
  expect((await app.anonymous.graphql('{ me { securityHistory(first: 1) { totalCount } } }')).body.errors[0].extensions.code).toBe(
    'MissingAuthentication',
  )
})
