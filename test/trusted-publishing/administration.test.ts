import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { acme } from '../support/publishers.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

it('allows administrators of a package to write rules, and shows them to no one else', async () => {
  await using all = await trustedApp()
  const { app, admin, member, addRule, tokenIssuerId } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const path = '/api/packages/acme_ui/trusted-publishers'
  const id = await addRule({ ...acmeRule, label: 'Releases' })
  const stranger = await app.member()
  const reader = await app.withScopes(member, ['read'])
  for (const actor of [stranger, reader, await app.viewer()]) {
    expect((await actor.get(path)).status).toBe(403)
    expect((await actor.post(path, { tokenIssuerId, ...acmeRule })).status).toBe(403)
    expect((await actor.put(`/api/trusted-publishers/${id}`, { tokenIssuerId, ...acmeRule })).status).toBe(403)
    expect((await actor.delete(`/api/trusted-publishers/${id}`)).status).toBe(403)
    expect((await actor.post('/api/token-issuers', { name: 'x', issuerUrl: 'https://ci.example.com', preset: 'CUSTOM' })).status).toBe(403)
    expect((await actor.delete(`/api/token-issuers/${tokenIssuerId}`)).status).toBe(403)
  }
  expect((await app.anonymous.get(path)).status).toBe(401)
  expect((await admin.get(path)).body).toMatchObject({
    allowsManualPublishing: true,
    trustedPublishers: [
      {
        id,
        label: 'Releases',
        repository: 'acme/acme_ui',
        tagPattern: 'v{{version}}',
        isReadOnly: false,
        createdBy: { userId: member.id },
        lastUsedAt: null,
      },
    ],
  })
  const log = await member.get('/api/packages/acme_ui/activity-log')
  expect(log.body.entries[0]).toMatchObject({
    kind: 'trusted_publisher.added',
    summary: `${member.user.displayName} added the trusted publisher acme/acme_ui (GitHub Actions) to acme_ui`,
  })
  expect((await member.delete(`/api/trusted-publishers/${id}`)).body).toEqual({ status: 'ok' })
  expect((await member.delete(`/api/trusted-publishers/${id}`)).status).toBe(404)
})

it('allows admins of a publisher to write its rules', async () => {
  await using all = await trustedApp()
  const { admin, member, tokenIssuerId } = all
  await admin.post('/api/publishers', acme)
  const path = '/api/publishers/acme/trusted-publishers'
  expect((await member.post(path, { tokenIssuerId, ...acmeRule })).status).toBe(403)
  await admin.put(`/api/publishers/acme/members/${member.id}`, { role: 'member' })
  expect((await member.post(path, { tokenIssuerId, ...acmeRule })).status).toBe(403)
  await admin.put(`/api/publishers/acme/members/${member.id}`, { role: 'admin' })
  expect((await member.post(path, { tokenIssuerId, ...acmeRule })).status).toBe(201)
  expect((await member.get(path)).body.trustedPublishers).toHaveLength(1)
  expect((await member.get('/api/publishers/unknown/trusted-publishers')).status).toBe(404)
})

it('rejects rules that would allow any job, or that contradict themselves', async () => {
  await using all = await trustedApp()
  const { member, issuer, tokenIssuerId } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const ownerInFull = 'repository: name the owner in full, such as acme/*. Anyone can register a name that matches'
  const ownerClaims =
    'repository: name a repository, or its owner by one of the claims repository, repository_id, repository_owner, repository_owner_id, sub.'
  const invalid: [rule: object, message: string][] = [
    [{}, ownerClaims],
    [{ repository: '*' }, ownerClaims],
    [{ repository: '**', claims: [{ claim: 'sub', pattern: '*' }] }, ownerClaims],
    [{ claims: [{ claim: 'iss', pattern: issuer.url() }] }, ownerClaims],
    [{ claims: [{ claim: 'exp', pattern: '*1*' }] }, ownerClaims],
    [{ claims: [{ claim: 'sub', pattern: 'environment:release:*' }] }, ownerClaims],
    [{ claims: [{ claim: 'sub', pattern: 'environment:release' }] }, ownerClaims],
    [{ claims: [{ claim: 'constructor', pattern: 'x' }] }, ownerClaims],
    [{ repository: '**/*' }, `${ownerInFull} **/*.`],
    [{ repository: 'a*a*' }, `${ownerInFull} a*a*.`],
    [
      {
        repository: 'acme/x',
        claims: [
          { claim: 'sub', pattern: 'repo:acme/x:ref:refs/heads/main' },
          { claim: 'sub', pattern: 'repo:*' },
        ],
      },
      'claims: name each claim once.',
    ],
    [{ repository: 'acme/x', tagPattern: 'v*' }, 'tagPattern: must contain {{version}} once, such as v{{version}}.'],
    [{ repository: 'acme/x', tagPattern: '{{version}}-{{version}}' }, 'tagPattern: must contain {{version}} once, such as v{{version}}.'],
    [{ repository: 'acme/x', tagPattern: '{{tag}}{{version}}' }, 'tagPattern: may contain {{version}} and {{name}} only.'],
    [{ repository: '*/acme_ui' }, `${ownerInFull} */acme_ui.`],
    [{ repository: 'acme*' }, `${ownerInFull} acme*.`],
    [{ repository: 'acm*/acme_ui' }, `${ownerInFull} acm*/acme_ui.`],
    [{ repository: '\u0430cme/acme_ui' }, 'repository: must not contain “U+0430”.'],
    [{ claims: [{ claim: 'ref', pattern: 'refs/heads/main' }] }, ownerClaims],
    [{ claims: [{ claim: 'sub', pattern: 'repo:*' }] }, ownerClaims],
    [{ claims: [{ claim: 'repository_owner', pattern: 'ac*' }] }, ownerClaims],
    [{ repository: 'a\nb' }, 'repository: must not contain control characters'],
    [{ repository: 'a'.repeat(256) }, 'repository: must be at most 255 characters long'],
    [{ repository: 'acme/x', events: ['push,pull'] }, 'events.0: must be names of events, such as push'],
  ]
  for (const [rule, message] of invalid) {
    const { status, body } = await member.post('/api/packages/acme_ui/trusted-publishers', { tokenIssuerId, ...rule })
    expect([rule, status, body.error.message]).toEqual([rule, 400, message])
  }
  const unknown = await member.post('/api/packages/acme_ui/trusted-publishers', { ...acmeRule, tokenIssuerId: member.id })
  expect(unknown).toMatchObject({ status: 404, body: { error: { message: 'There is no CI system with this id on this server.' } } })
  expect((await member.post('/api/packages/nothing/trusted-publishers', { tokenIssuerId, ...acmeRule })).status).toBe(404)
})

/** Rules for other systems that any of their jobs would match, and some that name an owner. */
const owners: [preset: string, rules: object[], named: object[]][] = [
  ['gitlab', [{ repository: '*/acme_ui' }, { claims: [{ claim: 'sub', pattern: 'project_path:*' }] }], [{ repository: 'acme/*' }]],
  ['buildkite', [{ repository: '**/*' }], [{ claims: [{ claim: 'sub', pattern: 'organization:acme:*' }] }]],
  ['circleci', [{ repository: 'github.com/*' }, { repository: '**/*' }], [{ repository: 'github.com/acme/*' }]],
  ['bitbucket', [{ repository: '{*}' }, { claims: [{ claim: 'branchName', pattern: 'main' }] }], [{ repository: '{1}' }]],
  [
    'custom',
    [
      {},
      { repository: 'a*a*' },
      { repository: '**/*' },
      ...['iss', 'aud', 'exp', 'ref', 'event_name'].map((claim) => ({ claims: [{ claim, pattern: 'x' }] })),
      { claims: [{ claim: 'team', pattern: 'a*' }] },
    ],
    [{ claims: [{ claim: 'team', pattern: 'acme' }] }, { claims: [{ claim: 'sub', pattern: 'system:serviceaccount:ci:*' }] }],
  ],
]

it('requires an owner in rules for every CI system', async () => {
  await using all = await trustedApp()
  const { member, addIssuer } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  for (const [preset, wrong, named] of owners) {
    const tokenIssuerId = await addIssuer(preset, preset)
    const add = async (rule: object) => {
      const given = { tokenIssuerId, isReadOnly: true, ...rule }
      return (await member.post('/api/packages/acme_ui/trusted-publishers', given)).status
    }
    for (const rule of wrong) expect([preset, rule, await add(rule)]).toEqual([preset, rule, 400])
    for (const rule of named) expect([preset, rule, await add(rule)]).toEqual([preset, rule, 201])
  }
})

it('allows 20 rules per package, also when they are added at once', async () => {
  await using all = await trustedApp()
  const { member, tokenIssuerId } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const add = () => member.post('/api/packages/acme_ui/trusted-publishers', { tokenIssuerId, ...acmeRule })
  const answers = await Promise.all(Array.from({ length: 24 }, add))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
  expect((await add()).body.error.message).toBe('acme_ui has 20 trusted publishers, which is the limit. Remove one first.')
})

it('requires a recent proof to change the CI systems in a session', async () => {
  await using all = await trustedApp()
  const { app, admin, issuer, tokenIssuerId } = all
  const session = await admin.session()
  app.clock.now = new Date(app.services.now().getTime() + 11 * 60_000)
  const refused = [
    await session.post('/api/token-issuers', { name: 'Other', issuerUrl: issuer.url('other'), preset: 'CUSTOM' }),
    await session.put(`/api/token-issuers/${tokenIssuerId}`, { name: 'Other' }),
    await session.delete(`/api/token-issuers/${tokenIssuerId}`),
  ]
  for (const { status, body } of refused)
    expect([status, body.error.message]).toEqual([403, expect.stringContaining('Confirm your password first')])
  await session.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })
  expect((await session.put(`/api/token-issuers/${tokenIssuerId}`, { name: 'Actions' })).body).toMatchObject({ name: 'Actions' })
})

it('rejects people where manual publishing is switched off, administrators included', async () => {
  await using all = await trustedApp()
  const { admin, member, addRule, job } = all
  await admin.post('/api/publishers', acme)
  await admin.put(`/api/publishers/acme/members/${member.id}`, { role: 'admin' })
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule({ repository: 'acme/acme_ui' })
  const manual = async (version: string, actor = member) => publishArchive(actor, await packageArchive({ name: 'acme_ui', version }))
  const message =
    'Manual publishing of acme_ui is switched off: only CI jobs of its trusted publishers can publish it. Its administrators can switch it on again, in the Admin tab of the package.'
  const rights = async (actor = member) => (await actor.get('/api/packages/acme_ui/permissions')).body as object
  expect(await rights()).toEqual({ canPublish: true, canAdminister: true })
  expect((await member.put('/api/packages/acme_ui/options', { allowsManualPublishing: false })).status).toBe(200)
  for (const actor of [member, admin, await member.session()])
    expect([await manual('1.0.0', actor), await rights(actor)]).toMatchObject([
      { status: 403, body: { error: { message } } },
      { canPublish: false, canAdminister: true },
    ])
  expect((await manual('1.0.0', await job())).status).toBe(200)
  await admin.put('/api/packages/acme_ui/options', { allowsManualPublishing: true })
  expect((await manual('1.0.1')).status).toBe(200)

  await admin.put(`/api/publishers/acme/members/${admin.id}`, { role: 'admin' })
  expect((await member.put('/api/packages/acme_ui/publisher', { publisherId: 'acme' })).status).toBe(200)
  const change = await member.graphql(
    'mutation { updatePublisher(input: { publisherId: "UHVibGlzaGVyOmFjbWU=", allowsManualPublishing: false }) { publisher { allowsManualPublishing } } }',
  )
  expect(change.body.data.updatePublisher.publisher).toEqual({ allowsManualPublishing: false })
  expect((await manual('1.0.2')).body.error.message).toBe(
    'Manual publishing of acme_ui is switched off with that of all packages of the publisher acme: only CI jobs of trusted publishers can publish them. Admins of acme can switch it on again, on its page Trusted publishing.',
  )
  expect(await rights()).toEqual({ canPublish: false, canAdminister: true })
  expect((await manual('1.0.2', await job())).status).toBe(200)
  await member.put('/api/publishers/acme', { allowsManualPublishing: true })
  expect((await manual('1.0.3')).status).toBe(200)
})

it('restores rules, their locks and the provenance of versions with a deleted package', async () => {
  await using all = await trustedApp()
  const { admin, member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const id = await addRule({ ...acmeRule, label: 'Releases', events: ['push'] })
  await member.put('/api/packages/acme_ui/options', { allowsManualPublishing: false })
  expect((await publishArchive(await job(), await packageArchive({ name: 'acme_ui', version: '1.0.0' }))).status).toBe(200)
  const read = async () => {
    const { body } = await member.graphql(
      '{ package(name: "acme_ui") { allowsManualPublishing latest { provenance { repository runUrl } } trustedPublishers { uuid label repository events tagPattern lockedRepositoryId lockedOwnerId createdBy { uuid } } } }',
    )
    return body.data.package as object
  }
  const before = await read()
  expect(before).toMatchObject({ allowsManualPublishing: false, trustedPublishers: [{ uuid: id, lockedRepositoryId: '1' }] })
  await admin.delete('/api/admin/packages/acme_ui')
  const { body } = await admin.graphql('{ deletedPackages(first: 1) { nodes { id } } }')
  const restored = await admin.graphql(
    `mutation { restoreDeletedPackage(input: { deletedPackageId: "${body.data.deletedPackages.nodes[0].id}" }) { package { name } } }`,
  )
  expect(restored.body.errors).toBeUndefined()
  expect(await read()).toEqual(before)
  const changed = await (await job({ repository_id: '2' })).get('/api/packages/acme_ui')
  expect(changed.status).toBe(403)
})
