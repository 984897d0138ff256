import { expect, it } from 'vitest'
import { mirrorPolicies } from '../../server/registry/mirror/policies/settings.ts'
import { testApp } from '../app.ts'

const mirroring = { env: { UPSTREAM_URL: 'https://pub.dev' } }
const path = '/api/admin/mirror/policies'
const { initial } = mirrorPolicies
const refused = (status: number, code: string) => ({ status, body: { error: { code } } })
const invalid = (message: string) => ({ status: 400, body: { error: { code: 'InvalidInput', message } } })

it('updates single policies, increases the revision and records what changed', async () => {
  await using app = await testApp(mirroring)
  const admin = await app.admin()
  expect(await admin.get(path)).toMatchObject({ status: 200, body: initial })
  const minimumAge = { ...initial.minimumAge, mode: 'enforce', days: 14, exempt: ['flutter_*', 'flutter_*'] }
  const first = { ...initial, revision: 1, minimumAge: { ...minimumAge, exempt: ['flutter_*'] } }
  expect(await admin.put(path, { minimumAge })).toMatchObject({ status: 200, body: first })
  // The same policies again are not a change.
  expect(await admin.put(path, { minimumAge, revision: 1 })).toMatchObject({ status: 200, body: first })
  const packages = { mode: 'audit', allow: [], deny: [{ name: 'evil_*', versions: '<2.0.0' }, { publisher: 'Evil.dev' }] }
  const licenses = { mode: 'enforce', allow: ['MIT', 'BSD-3-Clause', 'mit'], deny: [] }
  const advisories = { mode: 'enforce', severity: 'moderate', unknownAs: 'high' }
  const second = {
    ...first,
    revision: 2,
    packages: {
      mode: 'audit',
      allow: [],
      deny: [
        { name: 'evil_*', publisher: null, versions: '<2.0.0' },
        { name: null, publisher: 'evil.dev', versions: null },
      ],
    },
    licenses: { mode: 'enforce', allow: ['mit', 'bsd-3-clause'], deny: [] },
    advisories,
  }
  expect(await admin.put(path, { revision: 1, packages, licenses, advisories })).toMatchObject({ status: 200, body: second })
  expect((await (await app.owner()).get(path)).body).toEqual(second)
  expect(await admin.put(path, { packages: { mode: 'audit', allow: [], deny: second.packages.deny.slice(1) } })).toMatchObject({
    status: 200,
    body: { revision: 3 },
  })
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.mirror_policies_updated')).body
  const changed = `${admin.user.displayName} changed the policies of the mirror: `
  expect(entries.map(({ summary }: { summary: string }) => summary)).toEqual([
    `${changed}packages: denied removed evil_*, versions <2.0.0`,
    `${changed}packages: audit, denied added evil_*, versions <2.0.0, * of evil.dev; advisories: enforce, from moderate, unknown severity as high; licenses: enforce, allowed added mit, bsd-3-clause`,
    `${changed}minimum age: enforce, 14 days, exempt added flutter_*`,
  ])
})

it('refuses a change that is based on an earlier revision, also of a concurrent change', async () => {
  await using app = await testApp(mirroring)
  const admin = await app.admin()
  const change = (days: number, revision?: number) => admin.put(path, { revision, minimumAge: { ...initial.minimumAge, days } })
  const answers = await Promise.all([10, 11, 12, 13].map((days) => change(days, 0)))
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409])
  const conflict = { code: 'Conflict', message: 'The policies were changed in the meantime. Reload them, then make your change again.' }
  expect(await change(20, 0)).toMatchObject({ status: 409, body: { error: conflict } })
  expect(await change(20, 2)).toMatchObject(refused(409, 'Conflict'))
  expect(await change(20)).toMatchObject({ status: 200, body: { revision: 2, minimumAge: { days: 20 } } })
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.mirror_policies_updated')).body
  expect(entries).toHaveLength(2)
})

const age = { ...initial.minimumAge, mode: 'enforce' }
const lists = { mode: 'enforce', allow: [], deny: [] }
const name = 'must be a package name, in which * stands for any characters'
const constraint = 'must be a version constraint that allows a version, such as <2.0.0'
const spdx = 'must be an SPDX identifier of a license, such as BSD-3-Clause'
it.each([
  ['days below 0', { minimumAge: { ...age, days: -1 } }, 'minimumAge.days: must be from 0 to 365'],
  ['days above 365', { minimumAge: { ...age, days: 366 } }, 'minimumAge.days: must be from 0 to 365'],
  ['an exempt name', { minimumAge: { ...age, exempt: ['ok', 'Not ok'] } }, `minimumAge.exempt.1: ${name}`],
  ['too many names', { minimumAge: { ...age, exempt: Array(501).fill('a') } }, 'minimumAge.exempt: must have at most 500 entries'],
  ['a pattern', { packages: { ...lists, deny: [{ name: 'a.b' }] } }, `packages.deny.0.name: ${name}`],
  ['a long pattern', { packages: { ...lists, allow: [{ name: 'a'.repeat(65) }] } }, `packages.allow.0.name: ${name}`],
  ['an empty selector', { packages: { ...lists, deny: [{ versions: '<1.0.0' }] } }, 'packages.deny.0: must have a name or a publisher'],
  ['a constraint', { packages: { ...lists, deny: [{ name: 'a', versions: '~1.0' }] } }, `packages.deny.0.versions: ${constraint}`],
  [
    'an impossible constraint',
    { packages: { ...lists, deny: [{ name: 'a', versions: '>2.0.0 <1.0.0' }] } },
    `packages.deny.0.versions: ${constraint}`,
  ],
  [
    'a constraint of two lines',
    { packages: { ...lists, deny: [{ name: 'a', versions: '>1.0.0\n<2.0.0' }] } },
    `packages.deny.0.versions: ${constraint}`,
  ],
  [
    'a publisher',
    { packages: { ...lists, deny: [{ publisher: 'a b' }] } },
    'packages.deny.0.publisher: must be the domain of a publisher, such as dart.dev',
  ],
  [
    'too many selectors',
    { packages: { ...lists, deny: Array.from({ length: 501 }, () => ({ name: 'a' })) } },
    'packages.deny: must have at most 500 entries',
  ],
  ['a license', { licenses: { ...lists, deny: ['MIT License'] } }, `licenses.deny.0: ${spdx}`],
  ['too many licenses', { licenses: { ...lists, allow: Array(501).fill('MIT') } }, 'licenses.allow: must have at most 500 entries'],
])('refuses invalid input: %s', async (_what, change, message) => {
  await using app = await testApp(mirroring)
  const admin = await app.admin()
  expect(await admin.put(path, change)).toMatchObject(invalid(message))
  expect((await admin.get(path)).body.revision).toBe(0)
})

it('accepts 500 entries in a list', async () => {
  await using app = await testApp(mirroring)
  const deny = Array.from({ length: 500 }, (_, index) => ({ name: `package_${index}`, publisher: 'evil.dev', versions: '<1.0.0' }))
  const answer = await (await app.admin()).put(path, { packages: { ...lists, deny } })
  expect(answer).toMatchObject({ status: 200, body: { packages: { deny } } })
})

it.each([
  ['an unknown mode', { minimumAge: { ...age, mode: 'on' } }],
  ['an unknown severity', { advisories: { mode: 'enforce', severity: 'medium', unknownAs: 'high' } }],
  ['a policy without its lists', { packages: { mode: 'enforce' } }],
  ['days that are not a whole number', { minimumAge: { ...age, days: 1.5 } }],
  ['a single name instead of a list', { minimumAge: { ...age, exempt: 'http' } }],
])('refuses input of the wrong form: %s', async (_what, change) => {
  await using app = await testApp(mirroring)
  expect(await (await app.admin()).put(path, change)).toMatchObject(refused(400, 'InvalidInput'))
})

it('is for administrators only', async () => {
  await using app = await testApp(mirroring)
  const admin = await app.admin()
  const writer = await app.withScopes(admin, ['read', 'write'])
  const change = { minimumAge: age }
  for (const actor of [await app.member(), await app.viewer(), writer]) {
    for (const one of [path, '/api/admin/mirror/decisions'])
      expect(await actor.get(one)).toMatchObject(refused(403, 'InsufficientPermissions'))
    expect(await actor.put(path, change)).toMatchObject(refused(403, 'InsufficientPermissions'))
    for (const query of ['mirrorPolicies { revision }', 'mirrorDecisions(first: 1) { totalCount }', 'mirrorPolicyEffects { rule }'])
      expect((await actor.graphql(`{ ${query} }`)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  }
  expect(await app.anonymous.get(path)).toMatchObject(refused(401, 'MissingAuthentication'))
  expect(await app.anonymous.put(path, change)).toMatchObject(refused(401, 'MissingAuthentication'))
  expect((await admin.get(path)).body.revision).toBe(0)
})

it('is not available without an upstream server', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const off = {
    status: 404,
    body: { error: { code: 'NotFound', message: 'This server does not mirror another package server. Set UPSTREAM_URL and restart it.' } },
  }
  for (const one of [path, '/api/admin/mirror/decisions']) expect(await admin.get(one)).toMatchObject(off)
  expect(await admin.put(path, { minimumAge: age })).toMatchObject(off)
  expect((await admin.graphql('{ mirrorPolicies { revision } }')).body.data).toEqual({ mirrorPolicies: null })
  expect((await admin.graphql('{ mirrorPolicyEffects { rule } }')).body.errors[0].extensions.code).toBe('NotFound')
})
