import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { publish, announce } from '../support/publish.ts'

const keys = '/api/auth/keys'
const contractMembers = ['createdAt', 'expiresAt', 'id', 'name', 'prefix', 'scopes', 'secret']

it('creates narrowed tokens, and shows their limits only where there are some', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const plain = await alice.post(keys, { name: 'plain' })
  expect(Object.keys(plain.body).toSorted()).toEqual(contractMembers)
  const limits = {
    packages: [' acme_*', 'tools', 'Pool'],
    actions: ['publish', 'READ'],
    addresses: ['10.1.2.3/8', '2001:DB8:0::1', '::ffff:192.0.2.1'],
  }
  const made = await alice.post(keys, { name: 'ci', ...limits })
  const shown = {
    packages: ['acme_*', 'tools', 'Pool'],
    actions: ['publish', 'read'],
    addresses: ['10.0.0.0/8', '2001:db8::1', '192.0.2.1'],
  }
  expect(made).toMatchObject({ status: 201, body: { name: 'ci', scopes: ['read', 'write'], ...shown } })
  const [narrowed, other] = (await alice.get(keys)).body.keys
  expect(narrowed).toMatchObject(shown)
  expect(Object.keys(other)).not.toContain('packages')
  const query = '{ viewer { tokens(first: 2) { nodes { name packages actions addresses } } } }'
  expect((await alice.graphql(query)).body.data.viewer.tokens.nodes).toEqual([
    { name: 'ci', packages: ['acme_*', 'tools', 'Pool'], actions: ['PUBLISH', 'READ'], addresses: shown.addresses },
    { name: 'plain', packages: null, actions: null, addresses: null },
  ])
})

it('gives a token that may only read the scope to read, whatever the scopes are', async () => {
  await using app = await testApp()
  const [alice, viewer] = [await app.member(), await app.viewer()]
  for (const scopes of [undefined, ['read'], ['read', 'write']])
    expect(await alice.post(keys, { name: 'reader', actions: ['read'], scopes })).toMatchObject({ status: 201, body: { scopes: ['read'] } })
  const browser = await viewer.session()
  expect(await browser.post(keys, { name: 'reader', packages: ['acme'] })).toMatchObject({ status: 201, body: { scopes: ['read'] } })
  for (const actions of [['publish'], ['read', 'retract']]) {
    const message = expect.stringMatching(/^actions: (publish|retract) needs the scope write, which the role of the account \(viewer\)/)
    expect(await browser.post(keys, { name: 'x', actions })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message } },
    })
  }
  expect(await alice.post(keys, { name: 'x', actions: ['publish'], scopes: ['read'] })).toMatchObject({
    status: 400,
    body: { error: { message: 'actions: publish needs the scope write, which the scopes do not contain.' } },
  })
})

it.each([
  [{ packages: [] }, 'packages: must contain at least one package, or be left out'],
  [{ packages: ['acme', 'Acme UI'] }, 'packages: "Acme UI" is not the name of a package, or a part of one with * for any characters'],
  [{ packages: ['acme,other'] }, 'packages: "acme,other" is not the name of a package'],
  [{ packages: ['1acme'] }, 'packages: "1acme" is not the name of a package'],
  [{ packages: ['a'.repeat(65)] }, 'is not the name of a package'],
  [{ packages: ['*'] }, 'packages: "*" is not the name of a package, or a part of one with'],
  [{ packages: ['acme_**'] }, 'packages: "acme_**" is not the name of a package'],
  [{ packages: ['acme', 'tools', ' tools'] }, 'packages: contains "tools" twice'],
  [{ actions: ['read', 'READ'] }, 'actions: contains "read" twice'],
  [{ addresses: ['10.0.0.1', '10.0.0.1 '] }, 'addresses: contains "10.0.0.1" twice'],
  [{ addresses: ['1.2.3'] }, 'addresses: "1.2.3" is not an IP address'],
  [{ addresses: ['::/129'] }, 'addresses: "::/129" is not an IP address'],
  [{ packages: Array.from({ length: 1000 }, (_, index) => `p${index}`) }, 'packages: must contain at most 100 entries'],
  [{ packages: Array.from({ length: 101 }, (_, index) => `p${index}`) }, 'packages: must contain at most 100 entries'],
  [{ actions: [] }, 'actions: must contain at least one action, or be left out'],
  [{ actions: ['write'] }, 'actions'],
  [{ addresses: [] }, 'addresses: must contain at least one address, or be left out'],
  [{ addresses: ['10.0.0.0/33'] }, 'addresses: "10.0.0.0/33" is not an IP address, or a range such as 10.0.0.0/8'],
  [{ addresses: ['10.1'] }, 'addresses: "10.1" is not an IP address'],
  [{ addresses: ['example.com'] }, 'addresses: "example.com" is not an IP address'],
  [{ addresses: ['2001:db8::/129'] }, 'addresses: "2001:db8::/129" is not an IP address'],
  [{ addresses: ['::ffff:10.0.0.0/64'] }, 'addresses: "::ffff:10.0.0.0/64" is not an IP address'],
  [{ addresses: ['10.0.0.1,10.0.0.2'] }, 'addresses: "10.0.0.1,10.0.0.2" is not an IP address'],
  [{ addresses: Array.from({ length: 51 }, (_, index) => `10.0.0.${index}`) }, 'addresses: must contain at most 50 entries'],
  [{ scopes: ['admin'], packages: ['acme'] }, 'scopes: admin cannot be combined with actions or packages.'],
  [{ scopes: ['read', 'admin'], actions: ['read'] }, 'scopes: admin cannot be combined with actions or packages.'],
])('rejects %o', async (limits, message) => {
  await using app = await testApp()
  const admin = await app.admin()
  const answer = await admin.post(keys, { name: 'x', ...limits })
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput', message: expect.stringContaining(message) } } })
  expect((await admin.get(keys)).body.keys.filter(({ name }: { name: string }) => name === 'x')).toEqual([])
})

it('accepts a token only from its addresses, on both instances, without package clients deleting it', async () => {
  await using app = await testApp({ env: { TRUST_PROXY: '127.0.0.1' } })
  const alice = await app.member()
  const { body } = await alice.post(keys, { name: 'office', addresses: ['192.0.2.0/28', '2001:db8:1::/48'] })
  const office = app.withToken(body.secret)
  const from = async (ip: string, forwarded?: string) =>
    (await office.get('/api/auth/me', { ip, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } })).status
  expect(await from('192.0.2.15')).toBe(200)
  expect(await from('::ffff:192.0.2.1')).toBe(200)
  expect(await from('2001:db8:1:ff::9')).toBe(200)
  expect(await from('127.0.0.1', '198.51.100.7, 192.0.2.3')).toBe(200)
  for (const [ip, forwarded] of [
    ['192.0.2.16'],
    ['2001:db8:2::1'],
    ['127.0.0.1', '192.0.2.3, 198.51.100.7'],
    // Not from a trusted proxy.
    ['198.51.100.7', '192.0.2.3'],
  ] as const)
    expect({ ip, status: await from(ip, forwarded) }).toEqual({ ip, status: 403 })
  const answer = await office.get('/api/packages/acme', { ip: '198.51.100.7' })
  expect(answer).toMatchObject({
    status: 403,
    body: { error: { code: 'InsufficientPermissions', message: 'This access token does not work from the address 198.51.100.7.' } },
  })
  expect(String(answer.headers['www-authenticate'] ?? '')).not.toContain('invalid_token')
})

it('limits tokens that are made with a token to its addresses, and allows narrowed tokens to make none', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const office = app.withToken((await alice.post(keys, { name: 'office', addresses: ['10.0.0.0/8'] })).body.secret)
  expect(await office.post(keys, { name: 'same' })).toMatchObject({ status: 201, body: { addresses: ['10.0.0.0/8'] } })
  expect(await office.post(keys, { name: 'less', addresses: ['10.2.0.0/16'] })).toMatchObject({
    status: 201,
    body: { addresses: ['10.2.0.0/16'] },
  })
  for (const addresses of [['0.0.0.0/0'], ['10.2.0.0/16', '192.0.2.1'], ['::/0']])
    expect(await office.post(keys, { name: 'more', addresses })).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  for (const limits of [{ actions: ['publish'] }, { packages: ['acme'] }]) {
    const ci = app.withToken((await alice.post(keys, { name: 'ci', ...limits })).body.secret)
    expect(await ci.post(keys, { name: 'more' })).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  }
})

it('records the limits in the audit log, shortened', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const packages = Array.from({ length: 100 }, (_, index) => `${'p'.repeat(60)}${index}`)
  await alice.post(keys, { name: 'ci', packages, actions: ['publish'], addresses: ['10.0.0.0/8'] })
  const [entry] = (await (await app.admin()).get('/api/admin/audit-log?kind=token.created')).body.entries
  expect(entry.summary).toMatch(
    /^Alice created the token "ci" \(read, write; actions publish; packages p+0, p+1 and 98 more; addresses 10\.0\.0\.0\/8\)$/,
  )
})

it('publishes with a token made over REST, on the package that it names only', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const ci = app.withToken((await alice.post(keys, { name: 'ci', packages: ['acme'], actions: ['publish'] })).body.secret)
  await publish(ci, { name: 'acme', version: '1.0.0' })
  await announce(ci)
  expect(await ci.get(keys)).toMatchObject({ status: 403 })
})
