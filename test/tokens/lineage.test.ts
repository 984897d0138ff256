import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { publish } from '../support/publish.ts'
import { codeFor } from '../support/oauth.ts'

type Made = { id: string; secret: string; actor: Actor }

async function createToken(app: TestApp, by: Actor, name: string, input: object = {}): Promise<Made> {
  const { status, body } = await by.post('/api/auth/keys', { name, ...input })
  if (status !== 201) throw new Error(`Cannot make ${name}: ${JSON.stringify(body)}`)
  return { id: body.id, secret: body.secret, actor: app.withToken(body.secret) }
}

/** Creates a token with three descendants in two generations, and an unrelated token. */
async function createFamily(app: TestApp, person: Actor) {
  const parent = await createToken(app, person, 'parent')
  const child = await createToken(app, parent.actor, 'child')
  const other = await createToken(app, parent.actor, 'other child', { scopes: ['read'] })
  const grandchild = await createToken(app, child.actor, 'grandchild')
  return { parent, descendants: [child, other, grandchild], unrelated: await createToken(app, person, 'unrelated') }
}

const status = async ({ actor }: Made) => (await actor.get('/api/auth/me')).status

const ways: [string, (app: TestApp, person: Actor, token: Made) => Promise<unknown>][] = [
  ['its owner', (_app, person, { id }) => person.delete(`/api/auth/keys/${id}`)],
  ['itself', (_app, _person, { actor, id }) => actor.delete(`/api/auth/keys/${id}`)],
  [
    'an administrator',
    async (app, person, { id }) => {
      const { body } = await (
        await app.admin()
      ).graphql(`{ accessTokens(first: 100, user: { email: "${person.email}" }) { nodes { id uuid } } }`)
      const node = body.data.accessTokens.nodes.find(({ uuid }: { uuid: string }) => uuid === id)
      const mutation = 'mutation ($id: ID!) { revokeUserToken(input: { id: $id }) { token { id } } }'
      return (await app.admin()).graphql(mutation, { id: node.id })
    },
  ],
  ['anyone with its secret', (app, _person, { secret }) => app.anonymous.post('/api/tokens/revoke', { secret })],
]

it.each(ways)('revokes its descendants when it is revoked by %s', async (_name, revoke) => {
  await using app = await testApp()
  const person = await app.member()
  const { parent, descendants, unrelated } = await createFamily(app, await person.session())
  await revoke(app, person, parent)
  expect(await Promise.all([parent, ...descendants].map(status))).toEqual([401, 401, 401, 401])
  expect(await status(unrelated)).toBe(200)
  const { body } = await person.graphql(
    '{ me { tokens(first: 100) { nodes { name } } securityHistory(first: 1) { nodes { kind summary } } } }',
  )
  expect(body.data.me.tokens.nodes.map(({ name }: { name: string }) => name).toSorted()).toEqual(['test', 'unrelated'])
  expect(body.data.me.securityHistory.nodes).toEqual([
    { kind: 'token.revoked', summary: expect.stringMatching(/"parent".*along with 3 tokens that were created with it$/) },
  ])
})

it('keeps its parent and siblings when it is revoked', async () => {
  await using app = await testApp()
  const person = await (await app.member()).session()
  const { parent, descendants, unrelated } = await createFamily(app, person)
  const [child] = descendants
  await person.delete(`/api/auth/keys/${child?.id}`)
  expect(await Promise.all([parent, ...descendants, unrelated].map(status))).toEqual([200, 401, 200, 401, 200])
})

it('never creates a token that outlives its revoked parent', async () => {
  await using app = await testApp()
  const person = await app.member()
  for (let round = 0; round < 60; round++) {
    const parent = await createToken(app, person, 'parent')
    const by = round % 2 ? await createToken(app, parent.actor, 'between') : parent
    const [made, , late] = await Promise.all([
      by.actor.post('/api/auth/keys', { name: 'raced' }),
      person.delete(`/api/auth/keys/${parent.id}`),
      by.actor.post('/api/auth/keys', { name: 'raced too' }),
    ])
    for (const answer of [made, late]) {
      expect([201, 401]).toContain(answer.status)
      if (answer.status === 201) expect(await app.withToken(answer.body.secret).get('/api/auth/me')).toMatchObject({ status: 401 })
    }
  }
})

it('counts the GraphQL rate per user, not per token', async () => {
  await using app = await testApp({ now: new Date() })
  const person = await app.member()
  const tokens = [person, ...(await Promise.all([1, 2].map((n) => createToken(app, person, `t${n}`)))).map(({ actor }) => actor)]
  const ask = (n: number) => (tokens[n % tokens.length] ?? person).graphql('{ viewer { id } }')
  const statuses: number[] = []
  for (let sent = 0; sent < 620; sent += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n)))
    statuses.push(...answers.map(({ status }) => status))
  }
  expect(statuses.filter((status) => status === 429)).toHaveLength(20)
  expect(statuses.filter((status) => status === 200)).toHaveLength(600)
  expect((await (await app.member()).graphql('{ viewer { id } }')).status).toBe(200)
})

it('revokes leaked tokens without revealing whether a secret was valid', async () => {
  await using app = await testApp()
  const person = await app.member()
  const token = await createToken(app, person, 'leaked')
  const flipped = token.secret.slice(0, -1) + (token.secret.endsWith('a') ? 'b' : 'a')
  const { statements } = await attributeStatements(async () => {
    for (const secret of [flipped, 'svc_pat_short', '', `svc_pat_${'x'.repeat(38)}`, 'no token'])
      expect(await app.anonymous.post('/api/tokens/revoke', { secret })).toMatchObject({ status: 200, body: { status: 'ok' } })
  })
  expect(statements.filter((sql) => sql.includes('access_tokens'))).toEqual([])
  expect(await status(token)).toBe(200)
  for (const body of [{}, { secret: 5 }, { secret: null }, { secret: 'x'.repeat(1025) }])
    expect(await app.anonymous.post('/api/tokens/revoke', body)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  const foreign = { headers: { origin: 'https://evil.example' } }
  expect(await app.anonymous.post('/api/tokens/revoke', { secret: token.secret }, foreign)).toMatchObject({ status: 403 })
  const scanner = await app.anonymous.graphql('mutation ($input: RevokeTokenBySecretInput!) { revokeTokenBySecret(input: $input) }', {
    input: { secret: token.secret },
  })
  expect(scanner.body).toEqual({ data: { revokeTokenBySecret: true }, extensions: { cost: expect.any(Number) } })
  expect(await status(token)).toBe(401)
  expect(await app.anonymous.post('/api/tokens/revoke', { secret: token.secret })).toMatchObject({ status: 200 })
  const { body } = await (
    await app.admin()
  ).graphql('{ auditEntries(first: 5, kind: "token.revoked") { nodes { actorName user { email } clientIp summary } } }')
  expect(body.data.auditEntries.nodes).toEqual([
    { actorName: null, user: { email: person.email }, clientIp: app.anonymous.ip, summary: expect.stringContaining('"leaked"') },
  ])
})

it('limits the lifetime of new tokens to TOKEN_MAX_DAYS', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z'), env: { TOKEN_MAX_DAYS: '30' } })
  const person = await (await app.member()).session()
  expect(await person.post('/api/auth/keys', { name: 'a' })).toMatchObject({ status: 201, body: { expiresAt: '2026-01-31T00:00:00.000Z' } })
  expect(await person.post('/api/auth/keys', { name: 'b', expiresInDays: 7 })).toMatchObject({
    status: 201,
    body: { expiresAt: '2026-01-08T00:00:00.000Z' },
  })
  expect(await person.post('/api/auth/keys', { name: 'c', expiresInDays: 31 })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^expiresInDays: must be at most 30.*TOKEN_MAX_DAYS/) } },
  })
  expect((await person.graphql('{ server { tokenMaxDays } }')).body.data.server.tokenMaxDays).toBe(30)
  const code = await codeFor(person)
  expect((await app.anonymous.post('/oauth/token', code)).status).toBe(200)
  const { body } = await person.get('/api/auth/keys')
  expect(body.keys[0]).toMatchObject({ name: 'CLI, 2026-01-01', expiresAt: '2026-01-31T00:00:00.000Z' })
})

it('limits lookups of e-mail addresses to prevent account enumeration', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'tool', version: '1.0.0' })
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  const acme = (await admin.graphql('{ publisher(slug: "acme") { id } }')).body.data.publisher.id
  await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  const addMember = async (email: string) => {
    const mutation = 'mutation ($input: SetPublisherMemberInput!) { setPublisherMember(input: $input) { member { role } } }'
    const { body } = await alice.graphql(mutation, { input: { id: acme, email, role: 'MEMBER' } })
    return body.errors?.[0].extensions.code ?? 'done'
  }
  const addUploader = (email: string) => alice.put(`/api/packages/tool/uploaders/${email}`)
  // Successful and forbidden additions do not count toward the limit of e-mail lookups.
  for (let round = 0; round < 25; round++) {
    expect((await addUploader(bob.email)).status).toBe(200)
    expect((await bob.put('/api/publishers/acme', { displayName: 'x' })).status).toBe(403)
  }
  const tries = await Promise.all(Array.from({ length: 10 }, (_, n) => addUploader(`unknown-${n}@example.com`)))
  expect(new Set(tries.map(({ status }) => status))).toEqual(new Set([404]))
  for (let round = 0; round < 10; round++) expect(await addMember(`unknown-${round}@example.org`)).toBe('NotFound')
  const refused = await addUploader('unknown@example.net')
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RateLimitExceeded' } } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3000)
  expect(await addMember(bob.email)).toBe('RateLimitExceeded')
  // Removing an uploader gives the same answer for unknown accounts and for users who are not uploaders.
  const removed = async (email: string) => (await alice.delete(`/api/packages/tool/uploaders/${email}`)).body.error.message
  expect((await removed(admin.email)).replace(admin.email, '?')).toBe(
    (await removed('unknown@example.com')).replace('unknown@example.com', '?'),
  )
})
