import { beforeAll, expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { trustedApp, tryPublish } from '../support/trusted-app.ts'

let archive: Buffer
beforeAll(async () => {
  archive = await packageArchive({ name: 'acme_ui', version: '1.0.0' })
})

const workflowOf = (repository: string) => ({ job_workflow_ref: `${repository}/.github/workflows/publish.yml@refs/heads/main` })

/** Rules and claims of jobs that must not publish acme_ui 1.0.0, and why. */
const refused: [name: string, rule: object, claims: object, sentence: string][] = [
  ['a branch', {}, { ref: 'refs/heads/main' }, 'This job runs on refs/heads/main. acme_ui can be published from tags v{{version}} only.'],
  [
    'a branch that is named as a tag',
    {},
    { ref: 'refs/heads/v1.0.0' },
    'This job runs on refs/heads/v1.0.0. acme_ui can be published from tags v{{version}} only.',
  ],
  [
    'a token without a ref',
    {},
    { ref: undefined },
    'The token of this job has no claim ref. acme_ui can be published from tags v{{version}} only.',
  ],
  [
    'a tag of another form',
    {},
    { ref: 'refs/tags/release-1.0.0' },
    'This job runs on refs/tags/release-1.0.0. acme_ui can be published from tags v{{version}} only.',
  ],
  [
    'a tag without a version',
    {},
    { ref: 'refs/tags/v' },
    'This job runs on refs/tags/v. acme_ui can be published from tags v{{version}} only.',
  ],
  [
    'a tag that names another version',
    {},
    { ref: 'refs/tags/v2.0.0' },
    'This job runs on the tag v2.0.0. Version 1.0.0 of acme_ui can be published from the tag v1.0.0 only.',
  ],
  [
    'a tag that begins with the version',
    {},
    { ref: 'refs/tags/v1.0.0-dev' },
    'This job runs on the tag v1.0.0-dev. Version 1.0.0 of acme_ui can be published from the tag v1.0.0 only.',
  ],
  [
    'a tag of another package in the repository',
    { tagPattern: '{{name}}-v{{version}}' },
    { ref: 'refs/tags/acme_api-v1.0.0' },
    'This job runs on refs/tags/acme_api-v1.0.0. acme_ui can be published from tags {{name}}-v{{version}} only.',
  ],
  ['a pull request', {}, { event_name: 'pull_request' }, 'This job was started by pull_request. Jobs of pull requests cannot publish.'],
  [
    'pull_request_target',
    {},
    { event_name: 'pull_request_target' },
    'This job was started by pull_request_target. Such jobs can neither read nor publish packages.',
  ],
  [
    'pull_request_target, even if the rule names it',
    { events: ['pull_request_target'] },
    { event_name: 'pull_request_target' },
    'This job was started by pull_request_target. Such jobs can neither read nor publish packages.',
  ],
  [
    'workflow_run',
    {},
    { event_name: 'workflow_run' },
    'This job was started by workflow_run, which may need no write access. Such jobs can publish only if the rule names the event.',
  ],
  [
    'issue_comment on a branch',
    { tagPattern: null },
    { event_name: 'issue_comment', ref: 'refs/heads/main' },
    'This job was started by issue_comment, which may need no write access. Such jobs can publish only if the rule names the event.',
  ],
  [
    'an event that is not known',
    { tagPattern: null },
    { event_name: 'Pull_Request', ref: 'refs/heads/main' },
    'This job was started by Pull_Request. Jobs of pull requests cannot publish.',
  ],
  [
    'a pull request, even if the rule names it',
    { events: ['pull_request_review'] },
    { event_name: 'pull_request_review' },
    'This job was started by pull_request_review. Jobs of pull requests cannot publish.',
  ],
  [
    'another event',
    { events: ['push', 'release'] },
    { event_name: 'workflow_dispatch' },
    'This job was started by workflow_dispatch. acme_ui can be published by jobs that push or release starts only.',
  ],
  [
    'no event',
    { events: ['push'] },
    { event_name: undefined },
    'This job was started by an unknown event. acme_ui can be published by jobs that push starts only.',
  ],
  [
    'no environment',
    { environment: 'production' },
    {},
    'This job runs in no environment. acme_ui can be published from the environment production only.',
  ],
  [
    'another environment',
    { environment: 'production' },
    { environment: 'staging' },
    'This job runs in the environment staging. acme_ui can be published from the environment production only.',
  ],
  [
    'another workflow',
    { workflow: 'publish.yml' },
    { workflow_ref: 'acme/acme_ui/.github/workflows/test.yml@refs/tags/v1.0.0' },
    'This job runs the workflow .github/workflows/test.yml. acme_ui can be published by publish.yml only.',
  ],
  [
    'a reusable workflow of another repository',
    {},
    workflowOf('evil/flows'),
    'This job runs the workflow evil/flows/.github/workflows/publish.yml of another repository. Packages can be read by workflows of acme/acme_ui only.',
  ],
  [
    'a reusable workflow of a repository whose name begins the same',
    {},
    workflowOf('acme/acme_ui2'),
    'This job runs the workflow acme/acme_ui2/.github/workflows/publish.yml of another repository. Packages can be read by workflows of acme/acme_ui only.',
  ],
  [
    'a reusable workflow of another repository with the same file name',
    { workflow: 'publish.yml' },
    workflowOf('evil/flows'),
    'This job runs the workflow evil/flows/.github/workflows/publish.yml of another repository. Packages can be read by publish.yml of acme/acme_ui only.',
  ],
  [
    'a reusable workflow other than the one in the rule',
    { workflow: 'acme/flows/.github/workflows/publish.yml' },
    workflowOf('evil/flows'),
    'This job runs the workflow evil/flows/.github/workflows/publish.yml of another repository. Packages can be read by acme/flows/.github/workflows/publish.yml only.',
  ],
]

it('refuses jobs that its rule does not allow, with the reason', async () => {
  await using all = await trustedApp()
  const { member, tokenIssuerId, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const id = await addRule(acmeRule)
  for (const [name, rule, claims, sentence] of refused) {
    const changed = await member.put(`/api/trusted-publishers/${id}`, { tokenIssuerId, ...acmeRule, ...rule })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    const answer = await tryPublish(await job(claims), archive)
    expect([name, answer.status, answer.body]).toEqual([name, 403, { error: { code: 'InsufficientPermissions', message: sentence } }])
    expect(answer.headers['www-authenticate']).toBe(`Bearer realm="pub", message="${sentence}"`)
    const { body } = await member.get('/api/packages/acme_ui/trusted-publishers')
    expect(body.trustedPublishers[0]).toMatchObject({ lastRejection: sentence, lastRejectedAt: expect.any(String) })
  }
  expect((await publishArchive(await job(), archive)).status).toBe(403)
  await member.put(`/api/trusted-publishers/${id}`, { tokenIssuerId, ...acmeRule })
  expect((await publishArchive(await job(), archive)).status).toBe(200)
})

it('allows what the rule names', async () => {
  await using all = await trustedApp()
  const { member, tokenIssuerId, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const id = await addRule(acmeRule)
  const allowed: [rule: object, claims: object][] = [
    [{ workflow: 'publish.yml', environment: 'production', events: ['push'] }, { environment: 'production' }],
    [{ workflow: '.github/workflows/publish.yml' }, {}],
    [{ workflow: 'acme/flows/.github/workflows/*.yml' }, workflowOf('acme/flows')],
    [{ tagPattern: '{{name}}-v{{version}}' }, { ref: 'refs/tags/acme_ui-v1.0.3' }],
    [{ tagPattern: null }, { ref: 'refs/heads/main' }],
    [
      { tagPattern: null, events: ['workflow_run'] },
      { ref: 'refs/heads/main', event_name: 'workflow_run' },
    ],
    [
      { tagPattern: null, events: ['push', 'issue_comment'] },
      { ref: 'refs/heads/main', event_name: 'issue_comment' },
    ],
    [{ repository: 'acme/*', claims: [{ claim: 'runner_environment', pattern: 'github-*' }] }, {}],
    [{ repository: null, claims: [{ claim: 'sub', pattern: 'repo:acme/acme_ui:*' }] }, {}],
  ]
  for (const [index, [rule, claims]] of allowed.entries()) {
    const version = `1.0.${index}`
    const changed = await member.put(`/api/trusted-publishers/${id}`, { tokenIssuerId, ...acmeRule, ...rule })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    const actor = await job({ ref: `refs/tags/v${version}`, ...claims })
    const answer = await publishArchive(actor, await packageArchive({ name: 'acme_ui', version }))
    expect([rule, answer.status, answer.body]).toEqual([rule, 200, expect.anything()])
  }
})

it('refuses jobs of CI systems, packages and repositories that no rule names', async () => {
  await using all = await trustedApp()
  const { app, admin, member, addRule, addIssuer, job, issuer } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await publish(member, { name: 'acme_api', version: '0.9.0' })
  const read = async (claims: object, path = 'ci') => (await job(claims, { path })).get('/api/packages/acme_ui')
  const none = (name: string) => `No trusted publisher allows jobs of ${name} to read packages of this server.`
  expect(await read({})).toMatchObject({ status: 403, body: { error: { message: none('acme/acme_ui (GitHub Actions)') } } })
  await addRule(acmeRule)
  expect((await read({})).status).toBe(200)
  expect(await read({ repository: 'evil/acme_ui', repository_id: '2' })).toMatchObject({
    status: 403,
    body: { error: { message: none('evil/acme_ui (GitHub Actions)') } },
  })
  const known = `This server accepts no tokens of the issuer ${issuer.url('other')}.`
  expect(await read({}, 'other')).toMatchObject({ status: 401, body: { error: { message: known } } })
  await addIssuer('github', 'other')
  expect(await read({}, 'other')).toMatchObject({ status: 403, body: { error: { message: none('acme/acme_ui (GitHub Actions)') } } })

  const other = await publishArchive(await job(), await packageArchive({ name: 'acme_api', version: '1.0.0' }))
  const message = 'acme_api has no trusted publisher for acme/acme_ui (GitHub Actions). Add one on the page of the package.'
  expect(other).toMatchObject({ status: 403, body: { error: { message } } })
  const fresh = await publishArchive(await job(), await packageArchive({ name: 'acme_new', version: '1.0.0' }))
  const unknown = 'acme_new does not exist, and no trusted publisher allows acme/acme_ui (GitHub Actions) to create it.'
  expect(fresh).toMatchObject({ status: 403, body: { error: { message: unknown } } })

  await addRule({ ...acmeRule, repository: 'acme/api' }, '/api/packages/acme_api', member)
  const fork = await publishArchive(await job(), await packageArchive({ name: 'acme_api', version: '1.0.0' }))
  expect(fork.body.error.message).toBe('This job runs in acme/acme_ui. acme_api can be published from acme/api only.')
  expect((await app.anonymous.get('/api/packages/acme_ui')).status).toBe(401)
  expect((await admin.get('/api/packages/acme_ui')).status).toBe(200)
})

it('locks a rule to the repository that uses it first', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const id = await addRule(acmeRule)
  const read = async (claims: object) => (await job(claims)).get('/api/packages/acme_ui')
  expect((await read({ ref: 'refs/heads/main' })).status).toBe(200)
  const { body } = await member.get('/api/packages/acme_ui/trusted-publishers')
  expect(body.trustedPublishers[0]).toMatchObject({
    id,
    lockedRepositoryId: '1',
    lockedOwnerId: '10',
    lastUse: 'acme/acme_ui (GitHub Actions) read packages.',
  })
  const problems: [object, string][] = [
    [{ repository_id: '2' }, 'acme/acme_ui was renamed or re-created: its id is 2, the rule is locked to 1.'],
    [{ repository_id: 1 }, ''],
    [{ repository_id: undefined }, 'acme/acme_ui was renamed or re-created: its id is missing, the rule is locked to 1.'],
    [{ repository_owner_id: '11' }, 'acme/acme_ui has another owner: its id is 11, the rule is locked to 10.'],
  ]
  for (const [claims, sentence] of problems) {
    const answer = await read(claims)
    expect(answer.body.error?.message ?? '').toBe(sentence)
    expect(answer.status).toBe(sentence === '' ? 200 : 403)
  }
  const { body: after } = await member.get('/api/packages/acme_ui/trusted-publishers')
  expect(after.trustedPublishers[0].lastRejection).toBe(problems[3]?.[1])
})

it('refuses packages to jobs with the code of strangers', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const read = async (claims: object) => (await (await job(claims)).get('/api/packages/acme_ui')).status
  for (const rule of [{}, { isReadOnly: true }]) {
    const id = await addRule({ ...acmeRule, ...rule })
    expect(await read({ event_name: 'pull_request_target' })).toBe(403)
    expect(await read({ event_name: 'pull_request_target', ...workflowOf('acme/acme_ui') })).toBe(403)
    expect(await read(workflowOf('evil/flows'))).toBe(403)
    expect(await read(workflowOf('acme/acme_ui2'))).toBe(403)
    expect(await read({ event_name: 'pull_request' })).toBe(200)
    expect(await read({ event_name: 'schedule', ref: 'refs/heads/main' })).toBe(200)
    await member.delete(`/api/trusted-publishers/${id}`)
  }
  const named = 'Acme/flows/.github/workflows/*.yml'
  for (const workflow of ['*.yml', '*/flows/.github/workflows/publish.yml', 'evil/*', 'evil/flow*', 'acme/flows*', named]) {
    const id = await addRule({ ...acmeRule, workflow })
    expect([workflow, await read(workflowOf('evil/flows'))]).toEqual([workflow, 403])
    expect([workflow, await read(workflowOf('acme/flows'))]).toEqual([workflow, workflow === named ? 200 : 403])
    await member.delete(`/api/trusted-publishers/${id}`)
  }
})
