import { expect, it } from 'vitest'
import { statuses } from '../actor.ts'
import { packageArchive } from '../support/archive.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { acme } from '../support/publishers.ts'
import { announce, publish, publishArchive, upload } from '../support/publish.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

const versionOf = (version: string) => packageArchive({ name: 'acme_ui', version })

it('publishes new names for a publisher, which then owns the packages', async () => {
  await using all = await trustedApp()
  const { admin, member, addRule, job } = all
  await admin.post('/api/publishers', acme)
  await addRule({ repository: 'acme/*', tagPattern: 'v{{version}}' }, '/api/publishers/acme', admin)
  expect((await publishArchive(await job(), await versionOf('1.0.0'))).status).toBe(200)
  const { body } = await member.graphql(
    '{ package(name: "acme_ui") { publisher { slug } uploaders { email } trustedPublishers { uuid } } }',
  )
  expect(body.data.package).toEqual({ publisher: { slug: 'acme' }, uploaders: [], trustedPublishers: null })
  expect(
    (
      await publishArchive(
        await job({
          repository: 'acme/other',
          repository_id: '2',
          ref: 'refs/tags/v1.1.0',
          workflow_ref: undefined,
          job_workflow_ref: undefined,
        }),
        await versionOf('1.1.0'),
      )
    ).status,
  ).toBe(200)
  const stranger = await (await job({ repository: 'acme/x', repository_owner_id: '99' })).get('/api/packages/versions/new')
  expect(stranger.body.error.message).toBe('acme/x has another owner: its id is 99, the rule is locked to 10.')
  const log = await admin.get('/api/packages/acme_ui/activity-log')
  expect(log.body.entries.map(({ summary }: { summary: string }) => summary)).toContain(
    'acme/acme_ui (GitHub Actions) created the package acme_ui',
  )
})

it('allows jobs of a read-only rule to read, but not to publish', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule({ repository: 'acme/app', isReadOnly: true, environment: 'ci' })
  const app = { repository: 'acme/app', repository_id: '3', workflow_ref: undefined, job_workflow_ref: undefined }
  const actor = await job({ ...app, environment: 'ci' })
  expect((await actor.get('/api/packages/acme_ui')).status).toBe(200)
  expect((await actor.get('/api/archives/acme_ui-0.9.0.tar.gz')).status).toBe(200)
  expect((await actor.get('/api/packages/versions/new')).body.error.message).toBe(
    'This credential does not allow the action "publish", only: read. All trusted publishers that match this job are read-only.',
  )
  const elsewhere = await (await job(app)).get('/api/packages/acme_ui')
  expect(elsewhere.body.error.message).toBe('This job runs in no environment. Packages can be read from the environment ci only.')
})

it('applies changed rules to jobs at their next request', async () => {
  await using all = await trustedApp()
  const { admin, member, addRule, job, tokenIssuerId } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const id = await addRule({ ...acmeRule, isReadOnly: true })
  const actor = await job()
  const read = async () => (await actor.get('/api/packages/acme_ui')).status
  const announceStatus = async () => (await actor.get('/api/packages/versions/new')).status
  expect([await read(), await announceStatus()]).toEqual([200, 403])
  const second = await addRule(acmeRule)
  expect([await read(), await announceStatus()]).toEqual([200, 200])
  await member.delete(`/api/trusted-publishers/${second}`)
  expect([await read(), await announceStatus()]).toEqual([200, 403])
  await member.put(`/api/trusted-publishers/${id}`, { tokenIssuerId, repository: 'acme/other' })
  expect(await read()).toBe(403)
  await member.put(`/api/trusted-publishers/${id}`, { tokenIssuerId, ...acmeRule })
  expect([await read(), await announceStatus()]).toEqual([200, 200])
  const uploadId = await upload(actor, await versionOf('1.0.0'))
  await admin.delete(`/api/token-issuers/${tokenIssuerId}`)
  expect(await read()).toBe(401)
  expect((await actor.get(`/api/packages/versions/newUploadFinish?upload_id=${uploadId}`)).status).toBe(401)
  expect((await member.get('/api/packages/acme_ui/trusted-publishers')).body.trustedPublishers).toEqual([])
})

it('rejects jobs of a deleted package', async () => {
  await using all = await trustedApp()
  const { admin, member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await publish(member, { name: 'acme_api', version: '0.9.0' })
  await addRule(acmeRule)
  const actor = await job()
  expect((await actor.get('/api/packages/acme_api')).status).toBe(200)
  await admin.delete('/api/admin/packages/acme_ui')
  expect((await actor.get('/api/packages/acme_api')).status).toBe(403)
})

it('publishes 20 versions by 20 jobs at once, and one version once', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  const work = Array.from({ length: 20 }, async (_, index) => {
    const version = `1.0.${index}`
    return publishArchive(await job({ ref: `refs/tags/v${version}` }), await versionOf(version))
  })
  expect(statuses(await Promise.all(work))).toEqual(Array.from({ length: 20 }, () => 200))
  const archive = await versionOf('2.0.0')
  const actor = await job({ ref: 'refs/tags/v2.0.0' })
  const same = await Promise.all(Array.from({ length: 5 }, () => publishArchive(actor, archive)))
  expect(statuses(same)).toEqual([200, 200, 200, 200, 200])
  const { body } = await member.get('/api/packages/acme_ui')
  expect(body.versions).toHaveLength(22)
})

it('locks a rule to one of two repositories that use it at once', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  const jobs = await Promise.all(['1', '2'].flatMap((id) => [1, 2, 3].map(() => job({ repository_id: id }))))
  const answers = await Promise.all(jobs.map((actor) => actor.get('/api/packages/acme_ui')))
  expect(statuses(answers)).toEqual([200, 200, 200, 403, 403, 403])
  const { body } = await member.get('/api/packages/acme_ui/trusted-publishers')
  const locked = body.trustedPublishers[0].lockedRepositoryId as string
  expect(answers.map(({ status }) => status)).toEqual(['1', '1', '1', '2', '2', '2'].map((id) => (id === locked ? 200 : 403)))
})

it('changes and removes rules while jobs are matched with them', async () => {
  await using all = await trustedApp()
  const { app, member, addRule, addIssuer, job, tokenIssuerId } = all
  const issuers = [tokenIssuerId, await addIssuer('github', 'other')]
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  let id = await addRule(acmeRule)
  for (let round = 0; round < interleavings; round++) {
    const [actor, other] = [await job(), await job({}, { path: 'other' })]
    const answers = await interleave(app, round, [
      () => member.put(`/api/trusted-publishers/${id}`, { ...acmeRule, tokenIssuerId: issuers[round % 2], label: `${round}` }),
      () => actor.get('/api/packages/acme_ui'),
      () => other.get('/api/packages/acme_ui'),
    ])
    expect(answers[0].status, JSON.stringify(answers[0].body)).toBe(200)
    for (const { status } of answers.slice(1)) expect([200, 401, 403]).toContain(status)
    const last = await Promise.all([member.delete(`/api/trusted-publishers/${id}`), (await job()).get('/api/packages/acme_ui')])
    expect(last[0].status).toBe(200)
    expect([200, 401, 403]).toContain(last[1].status)
    id = await addRule(acmeRule)
  }
})

it('allows a job to finish with the key in the upload URL, and no other job', async () => {
  await using all = await trustedApp()
  const { app, member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  const [actor, other] = [await job(), await job()]
  const { body } = await actor.get('/api/packages/versions/new')
  const path = (body.url as string).slice(app.config.SERVER_URL.length)
  const bytes = { headers: { 'content-type': 'application/octet-stream' } }
  const sent = await app.anonymous.post(path, await versionOf('1.0.0'), bytes)
  expect(sent.status).toBe(302)
  const uploadId = body.fields.upload_id as string
  expect((await other.get(`/api/packages/versions/newUploadFinish?upload_id=${uploadId}`)).status).toBe(404)
  expect((await member.get(`/api/packages/versions/newUploadFinish?upload_id=${uploadId}`)).status).toBe(404)
  const finished = await app.anonymous.get(String(sent.headers.location).slice(app.config.SERVER_URL.length))
  expect(finished.status).toBe(200)
  expect(await announce(actor)).not.toBe(uploadId)
})

it('allows all subgroups that a pattern of GitLab includes', async () => {
  await using all = await trustedApp()
  const { app, issuer, member, addRule, addIssuer } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const tokenIssuerId = await addIssuer('gitlab', 'gitlab')
  const read = async (claims: object) => {
    const token = await issuer.token(app, { pipeline_source: 'push', ref_path: 'refs/heads/main', ...claims }, { path: 'gitlab' })
    return (await app.withToken(token).get('/api/packages/acme_ui')).status
  }
  const id = await addRule({ tokenIssuerId, repository: 'acme/*', isReadOnly: true })
  for (const [index, project_path] of ['acme/app', 'acme/mobile/app', 'acme/mobile/ios/app', 'acme/api'].entries())
    expect([project_path, await read({ project_path, project_id: `${index}`, namespace_id: `${index % 3}` })]).toEqual([project_path, 200])
  expect(await read({ project_path: 'evil/app', project_id: '9', namespace_id: '0' })).toBe(403)
  await member.delete(`/api/trusted-publishers/${id}`)
  await addRule({ tokenIssuerId, repository: 'acme/app', isReadOnly: true })
  const project = { project_path: 'acme/app', project_id: '1', namespace_id: '1' }
  expect([await read(project), await read({ ...project, namespace_id: '2' }), await read({ ...project, project_id: '2' })]).toEqual([
    200, 403, 403,
  ])
})
