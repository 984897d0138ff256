import { describe, expect, it } from 'vitest'
import { listed, presetOf, purposesOf, type Purpose, tokenOf } from '../../../web/tokens/purposes.ts'
import type { Role } from '../../../web/generated/graphql.ts'

/** Returns the token that the form requests if nothing is typed. */
const untouched = (purpose: Purpose, role: Role, maxDays?: number) =>
  tokenOf({ packages: '', addresses: '', ...presetOf(purpose, role, maxDays) }, role)

describe('purposes', () => {
  it.each<[Role, string]>([
    ['VIEWER', 'machine read'],
    ['MEMBER', 'machine publish read account'],
    ['EDITOR', 'machine publish read account'],
    ['ADMIN', 'machine publish read account administration'],
    ['OWNER', 'machine publish read account administration'],
  ])('match the permissions of the role %s', (role, expected) => {
    expect(
      purposesOf(role)
        .map(({ value }) => value)
        .join(' '),
    ).toBe(expected)
  })

  it.each<[Purpose, string, string[], string[] | null, number]>([
    ['machine', 'My machine', ['READ', 'WRITE'], ['READ', 'PUBLISH'], 90],
    ['publish', 'Publish from CI', ['READ', 'WRITE'], ['READ', 'PUBLISH'], 90],
    ['read', 'Get packages in CI', ['READ'], ['READ'], 90],
    ['account', 'Script', ['READ', 'WRITE'], null, 30],
    ['administration', 'Administration script', ['READ', 'WRITE', 'ADMIN'], null, 7],
  ])('preset the narrowest token for %s', (purpose, name, scopes, actions, expiresInDays) => {
    expect(untouched(purpose, 'OWNER')).toEqual({ name, scopes, actions, packages: null, addresses: null, expiresInDays })
  })

  it('preset a name only until another one is typed', () => {
    expect(presetOf('read', 'OWNER', null, 'My machine').name).toBe('Get packages in CI')
    expect(presetOf('read', 'OWNER', null, '').name).toBe('Get packages in CI')
    expect(presetOf('read', 'OWNER', null, 'laptop').name).toBe('laptop')
  })

  it('preset reading for viewers, whose role allows nothing else', () => {
    for (const { value } of purposesOf('VIEWER')) expect(untouched(value, 'VIEWER')).toMatchObject({ scopes: ['READ'], actions: ['READ'] })
    expect(() => untouched('administration', 'MEMBER')).toThrow('The role MEMBER has no tokens for administration.')
  })

  it('preset no longer lifetime than the server allows', () => {
    expect(untouched('read', 'MEMBER', 14).expiresInDays).toBe(14)
    expect(untouched('administration', 'ADMIN', 14).expiresInDays).toBe(7)
  })
})

describe('tokens', () => {
  const token = {
    name: 'ci',
    purpose: 'publish',
    actions: ['READ'],
    packages: 'acme_*, acme_ui;x',
    addresses: ' 10.0.0.0/8\n::1 ',
    days: 0,
  } as const

  it('have the scope `write` only for actions that need it', () => {
    expect(tokenOf({ ...token, actions: ['READ'] }, 'MEMBER').scopes).toEqual(['READ'])
    expect(tokenOf({ ...token, actions: ['RETRACT'] }, 'MEMBER').scopes).toEqual(['READ', 'WRITE'])
  })

  it('have the packages and addresses that were typed, and no expiry if none was chosen', () => {
    expect(tokenOf({ ...token, actions: ['READ'] }, 'MEMBER')).toMatchObject({
      packages: ['acme_*', 'acme_ui', 'x'],
      addresses: ['10.0.0.0/8', '::1'],
      expiresInDays: null,
    })
  })

  it('have no limits on packages that were typed before the purpose changed to one without them', () => {
    const changed = tokenOf({ ...token, purpose: 'account', actions: [] }, 'MEMBER')
    expect(changed).toMatchObject({ scopes: ['READ', 'WRITE'], actions: null, packages: null, addresses: ['10.0.0.0/8', '::1'] })
  })
})

it.each([
  ['', []],
  [' , ;\n', []],
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  ['a; b\tc\nd', ['a', 'b', 'c', 'd']],
])('splits %j', (text, expected) => {
  expect(listed(text)).toEqual(expected)
})
