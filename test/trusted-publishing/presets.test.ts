import { expect, it } from 'vitest'
import { jobUrls } from '../../server/registry/trusted-publishing/presets.ts'
import { packageArchive } from '../support/archive.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { githubClaims } from '../support/token-issuer.ts'
import { trustedApp, tryPublish } from '../support/trusted-app.ts'

const ciUuid = '4a1f5dd0-6e6c-4b4c-a8c4-8d4ed1b1f111'
const bitbucketUuid = '{2b8c4d6e-5f4a-4f2a-9d1d-111111111111}'

/** Claims as the CI systems document them, the rule for them, and the provenance that is shown. */
const presets: [preset: string, claims: object, rule: object, provenance: object][] = [
  [
    'github',
    githubClaims,
    { repository: 'acme/acme_ui', workflow: 'publish.yml' },
    { repository: 'acme/acme_ui', repositoryId: '1', runId: '77', commit: 'a'.repeat(40) },
  ],
  [
    'gitlab',
    {
      sub: 'project_path:acme/mobile/acme_ui:ref_type:tag:ref:v1.0.0',
      namespace_id: '72',
      namespace_path: 'acme/mobile',
      project_id: '20',
      project_path: 'acme/mobile/acme_ui',
      pipeline_source: 'push',
      job_id: '302',
      ref: 'v1.0.0',
      ref_type: 'tag',
      ref_path: 'refs/tags/v1.0.0',
      ref_protected: 'true',
      environment: 'production',
      sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
      runner_environment: 'gitlab-hosted',
      ci_config_ref_uri: 'gitlab.example.com/acme/mobile/acme_ui//.gitlab-ci.yml@refs/tags/v1.0.0',
    },
    { repository: 'acme/mobile/acme_ui', environment: 'production', workflow: '.gitlab-ci.yml', events: ['push'] },
    { repository: 'acme/mobile/acme_ui', repositoryId: '20', runId: '302', environment: 'production', workflow: '.gitlab-ci.yml' },
  ],
  [
    'forgejo',
    {
      actor: 'octo',
      base_ref: '',
      event_name: 'push',
      head_ref: '',
      ref: 'refs/tags/v1.0.0',
      ref_protected: 'false',
      ref_type: 'tag',
      repository: 'acme/acme_ui',
      repository_id: '5',
      repository_owner: 'acme',
      repository_owner_id: '6',
      run_attempt: '1',
      run_id: '90',
      run_number: '12',
      sha: 'b'.repeat(40),
      sub: 'repo:acme/acme_ui:ref:refs/tags/v1.0.0',
      workflow: 'publish.yml',
      workflow_ref: 'acme/acme_ui/.forgejo/workflows/publish.yml@refs/tags/v1.0.0',
    },
    { repository: 'acme/acme_ui', workflow: 'publish.yml' },
    { repository: 'acme/acme_ui', repositoryId: '5', workflow: '.forgejo/workflows/publish.yml' },
  ],
  [
    'buildkite',
    {
      sub: 'organization:acme-inc:pipeline:acme-ui:ref:refs/tags/v1.0.0:commit:9f3182061f1e2cca4702c368cbc039b7dc9d4485:step:publish',
      organization_slug: 'acme-inc',
      pipeline_slug: 'acme-ui',
      build_number: 1,
      build_branch: 'v1.0.0',
      build_tag: 'v1.0.0',
      build_commit: '9f3182061f1e2cca4702c368cbc039b7dc9d4485',
      build_source: 'webhook',
      step_key: 'publish',
      job_id: '0184990a-477b-4fa8-9968-496074483cee',
      agent_id: '0184990a-4782-42b5-afc1-16715b10b8ff',
      organization_id: '0184990a-4780-42b5-afc1-16715b10b8ff',
      pipeline_id: '0184990a-4781-42b5-afc1-16715b10b8ff',
    },
    { repository: 'acme-inc/acme-ui', workflow: 'publish' },
    { repository: 'acme-inc/acme-ui', runUrl: 'https://buildkite.com/acme-inc/acme-ui/builds/1' },
  ],
  [
    'circleci',
    {
      sub: `org/${ciUuid}/project/${ciUuid}/user/${ciUuid}`,
      'oidc.circleci.com/org-id': ciUuid,
      'oidc.circleci.com/project-id': ciUuid,
      'oidc.circleci.com/context-ids': [ciUuid],
      'oidc.circleci.com/vcs-origin': 'github.com/acme/acme_ui',
      'oidc.circleci.com/vcs-ref': 'refs/tags/v1.0.0',
      'oidc.circleci.com/ssh-rerun': false,
      'oidc.circleci.com/job-id': ciUuid,
    },
    { repository: 'github.com/acme/acme_ui' },
    { repository: 'github.com/acme/acme_ui', repositoryId: ciUuid, runId: ciUuid },
  ],
  [
    'bitbucket',
    {
      sub: `${bitbucketUuid}:${bitbucketUuid}:${bitbucketUuid}`,
      stepUuid: bitbucketUuid,
      repositoryUuid: bitbucketUuid,
      pipelineUuid: bitbucketUuid,
      workspaceUuid: bitbucketUuid,
      deploymentEnvironmentUuid: bitbucketUuid,
      branchName: 'main',
    },
    { repository: bitbucketUuid, environment: bitbucketUuid, tagPattern: null, claims: [{ claim: 'branchName', pattern: 'main' }] },
    { repository: bitbucketUuid, ref: 'refs/heads/main', environment: bitbucketUuid },
  ],
  [
    'google',
    { sub: '113774264463038321964', azp: '113774264463038321964', email: 'publisher@acme.iam.gserviceaccount.com', email_verified: true },
    { repository: 'publisher@acme.iam.gserviceaccount.com', tagPattern: null },
    { repository: 'publisher@acme.iam.gserviceaccount.com', repositoryId: '113774264463038321964', ref: null },
  ],
  [
    'custom',
    { sub: 'system:serviceaccount:ci:publisher' },
    { repository: 'system:serviceaccount:ci:*', tagPattern: null },
    { repository: 'system:serviceaccount:ci:publisher' },
  ],
]

it('publishes with tokens as each CI system documents them', async () => {
  await using all = await trustedApp()
  const { app, issuer, member, addIssuer, addRule } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  for (const [index, [preset, claims, rule, provenance]] of presets.entries()) {
    const tokenIssuerId = await addIssuer(preset, preset)
    await addRule({ tagPattern: 'v{{version}}', ...rule, tokenIssuerId })
    const version = `1.0.${index}`
    const tagged = JSON.parse(JSON.stringify(claims).replaceAll('v1.0.0', `v${version}`)) as Record<string, unknown>
    const actor = app.withToken(await issuer.token(app, tagged, { path: preset }))
    const answer = await publishArchive(actor, await packageArchive({ name: 'acme_ui', version }))
    expect([preset, answer.status, answer.body]).toEqual([preset, 200, expect.anything()])
    const { body } = await member.graphql(
      `{ package(name: "acme_ui") { version(version: "${version}") { provenance { issuerUrl repository repositoryId commit ref workflow environment runId runUrl } } } }`,
    )
    expect(body.data.package.version.provenance).toMatchObject({ issuerUrl: issuer.url(preset), ...provenance })
  }
})

/** Claims that make the same jobs unfit to publish. */
const unfit: [preset: string, claims: object, sentence: string][] = [
  [
    'gitlab',
    { pipeline_source: 'merge_request_event' },
    'This job was started by merge_request_event. Jobs of pull requests cannot publish.',
  ],
  [
    'gitlab',
    { ref_path: undefined, ref_type: 'branch' },
    'This job runs on refs/heads/v1.0.0. acme_ui can be published from tags v{{version}} only.',
  ],
  [
    'gitlab',
    { ci_config_ref_uri: 'gitlab.example.com/evil/flows//.gitlab-ci.yml@refs/heads/main' },
    'This job runs the workflow evil/flows/.gitlab-ci.yml of another repository. Packages can be read by .gitlab-ci.yml of acme/mobile/acme_ui only.',
  ],
  [
    'forgejo',
    { event_name: 'pull_request_target' },
    'This job was started by pull_request_target. Such jobs can neither read nor publish packages.',
  ],
  ['buildkite', { build_tag: '' }, 'This job runs on refs/heads/v1.0.0. acme_ui can be published from tags v{{version}} only.'],
  [
    'circleci',
    { 'oidc.circleci.com/ssh-rerun': true },
    'This job was rerun with SSH access. Such jobs can neither read nor publish packages.',
  ],
  [
    'bitbucket',
    { deploymentEnvironmentUuid: undefined },
    `This job runs in no environment. acme_ui can be published from the environment ${bitbucketUuid} only.`,
  ],
]

it('refuses tokens of each CI system that are not for a release', async () => {
  await using all = await trustedApp()
  const { app, issuer, member, addIssuer, addRule } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const archive = await packageArchive({ name: 'acme_ui', version: '1.0.0' })
  for (const [preset, claims, rule] of presets)
    if (preset !== 'github')
      await addRule({
        tagPattern: 'v{{version}}',
        ...rule,
        tokenIssuerId: await addIssuer(preset, preset),
        label: JSON.stringify(claims).slice(0, 20),
      })
  for (const [preset, changes, sentence] of unfit) {
    const claims = presets.find(([name]) => name === preset)?.[1]
    const actor = app.withToken(await issuer.token(app, { ...claims, ...changes }, { path: preset }))
    const answer = await tryPublish(actor, archive)
    expect([preset, answer.status, answer.body.error?.message]).toEqual([preset, 403, sentence])
  }
  const google = presets.find(([name]) => name === 'google')?.[1]
  const unverified = app.withToken(await issuer.token(app, { ...google, email_verified: false }, { path: 'google' }))
  expect((await unverified.get('/api/packages/acme_ui')).status).toBe(403)
})

/** Refs of pull requests, as the CI systems name them, with a claim that makes a rule without a tag acceptable. */
const foreignRefs: [preset: string, claim: string, refs: object[]][] = [
  [
    'gitlab',
    'ref_protected',
    [{ ref_path: 'refs/merge-requests/7/head' }, { ref_path: undefined, ref_type: 'branch', ref: 'refs/merge-requests/7/merge' }],
  ],
  ['buildkite', 'build_branch', [{ build_tag: '', build_branch: 'evil:main' }]],
  [
    'circleci',
    'oidc.circleci.com/vcs-ref',
    ['refs/heads/pull/7', 'refs/pull/7/head', 'refs/heads/pull/7/head'].map((ref) => ({ 'oidc.circleci.com/vcs-ref': ref })),
  ],
  ['bitbucket', 'branchName', []],
]

it('requires a ref in rules of CI systems that do not distinguish pull requests, and refuses other refs than branches and tags', async () => {
  await using all = await trustedApp()
  const { app, issuer, member, addIssuer } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const archive = await packageArchive({ name: 'acme_ui', version: '1.0.0' })
  for (const [preset, claim, refs] of foreignRefs) {
    const tokenIssuerId = await addIssuer(preset, preset)
    const [, claims, { repository }] = presets.find(([name]) => name === preset) as [
      string,
      Record<string, unknown>,
      { repository: string },
      object,
    ]
    const rule = { tokenIssuerId, repository }
    const add = (more: object) => member.post('/api/packages/acme_ui/trusted-publishers', { ...rule, ...more })
    const wrong = [
      {},
      { claims: [{ claim, pattern: '*' }] },
      { claims: [{ claim: 'sub', pattern: '*acme*' }] },
      { events: ['parent_pipeline'] },
    ]
    for (const more of wrong) expect([preset, more, (await add(more)).status]).toEqual([preset, more, 400])
    const readOnly = await add({ isReadOnly: true })
    expect([preset, readOnly.status]).toEqual([preset, 201])
    expect((await member.put(`/api/trusted-publishers/${readOnly.body.id}`, rule)).body.error.message).toContain(
      'which jobs pull requests start',
    )
    for (const ref of refs) {
      const token = { ...claims, ...ref }
      const added = await add({ claims: [{ claim, pattern: `*${String((token as Record<string, unknown>)[claim]).slice(1)}` }] })
      expect([preset, added.status]).toEqual([preset, 201])
      const answer = await tryPublish(app.withToken(await issuer.token(app, token, { path: preset })), archive)
      expect([preset, answer.status, answer.body.error?.message]).toEqual([
        preset,
        403,
        expect.stringContaining('neither a branch nor a tag'),
      ])
      await member.delete(`/api/trusted-publishers/${added.body.id}`)
    }
  }
})

it('requires no tag of CI systems whose tokens name none, and accepts an environment of Bitbucket in its place', async () => {
  await using all = await trustedApp()
  const { member, addIssuer } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const [bitbucket, google] = [await addIssuer('bitbucket', 'bitbucket'), await addIssuer('google', 'google')]
  const add = async (rule: object) => {
    const { status, body } = await member.post('/api/packages/acme_ui/trusted-publishers', rule)
    return [status, body.error?.message ?? null] as const
  }
  const noTag = 'tagPattern: tokens of GitHub Actions do not name tags, so a tag cannot be required.'
  const ofGoogle = { tokenIssuerId: google, repository: '*@acme.iam.gserviceaccount.com' }
  expect(await add({ ...ofGoogle, tagPattern: 'v{{version}}' })).toEqual([400, noTag])
  expect(await add(ofGoogle)).toEqual([201, null])
  for (const repository of ['release@*', '*@developer.gserviceaccount.com', '*@iam.gserviceaccount.com', '*@gmail.com'])
    expect(await add({ ...ofGoogle, repository })).toEqual([400, expect.stringContaining('name the owner in full')])
  const ofBitbucket = { tokenIssuerId: bitbucket, repository: bitbucketUuid }
  expect(await add({ ...ofBitbucket, tagPattern: 'v{{version}}' })).toEqual([400, noTag])
  expect(await add(ofBitbucket)).toEqual([
    400,
    'environment: tokens of this CI system do not say which jobs pull requests start. Name an environment, a claim branchName.',
  ])
  expect(await add({ ...ofBitbucket, environment: bitbucketUuid })).toEqual([201, null])
})

it.each([
  ['github', 'https://token.actions.githubusercontent.com', 'https://github.com/acme/acme_ui/actions/runs/77'],
  ['github', 'https://token.actions.githubusercontent.com/acme-enterprise', 'https://github.com/acme/acme_ui/actions/runs/77'],
  ['github', 'https://token.actions.acme.ghe.com', 'https://acme.ghe.com/acme/acme_ui/actions/runs/77'],
  ['github', 'https://github.example.com/_services/token', 'https://github.example.com/acme/acme_ui/actions/runs/77'],
  ['forgejo', 'https://forge.example.com/api/actions', 'https://forge.example.com/acme/acme_ui/actions/runs/7'],
  ['custom', 'https://ci.example.com', null],
] as const)('links runs of %s at %s', (preset, issuerUrl, expected) => {
  expect(jobUrls(preset, issuerUrl, githubClaims).runUrl).toBe(expected)
  const hostile = jobUrls(preset, issuerUrl, { ...githubClaims, repository: 'acme/"><script>', run_id: '../x', run_number: '../x' })
  expect(JSON.stringify(hostile)).not.toMatch(/<script|\.\.\//)
})
