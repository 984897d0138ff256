import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { acme } from '../support/publishers.ts'
import { publish, publishArchive, upload } from '../support/publish.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

const versionOf = (version: string) => packageArchive({ name: 'acme_ui', version })
/** Claims of jobs whose workflow is in the repository that runs them, whatever its name. */
const plain = { workflow_ref: undefined, job_workflow_ref: undefined }

it('compares names of repositories exactly, except for upper and lower case', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await publish(member, { name: 'acme_api', version: '0.9.0' })
  await addRule({ repository: 'Acme/Acme_UI' })
  const others = ['acme/acme_ui2', 'acme/acme_u', 'evil/acme/acme_ui', 'acme/acme_u\u0131']
  // These jobs can read, so that they get as far as publishing.
  await addRule({ repository: 'acme/acme_*', isReadOnly: false }, '/api/packages/acme_api')
  await addRule({ repository: 'evil/*', isReadOnly: false }, '/api/packages/acme_api')
  const only = 'acme_ui can be published from Acme/Acme_UI only.'
  for (const repository of others) {
    const { status, body } = await publishArchive(await job({ ...plain, repository }), await versionOf('1.0.0'))
    const name = repository.replace('\u0131', 'U+0131')
    expect([status, body.error?.message]).toEqual([403, `This job runs in ${name}. ${only}`])
  }
  for (const [index, repository] of ['acme/acme_ui', 'ACME/acme_UI'].entries())
    expect((await publishArchive(await job({ repository }), await versionOf(`1.0.${index}`))).status).toBe(200)
  const lookalike = await (await job({ ...plain, repository: '\u0430cme/acme_ui', repository_id: '2' })).get('/api/packages/acme_ui')
  expect([lookalike.status, lookalike.body.error?.message]).toEqual([
    403,
    'No trusted publisher allows jobs of U+0430cme/acme_ui (GitHub Actions) to read packages of this server.',
  ])
})

it('records the refusal of a job whose repository was renamed or differs in case', async () => {
  await using all = await trustedApp()
  const { member, addIssuer, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const read = async (...given: Parameters<typeof job>) => (await job(...given)).get('/api/packages/acme_ui')
  const rejections = async () => {
    const { body } = await member.get('/api/packages/acme_ui/trusted-publishers')
    return body.trustedPublishers.map(({ lastRejection }: { lastRejection: string | null }) => lastRejection) as string[]
  }
  await addRule(acmeRule)
  expect((await read()).status).toBe(200)
  const renamed = await read({ ...plain, repository: 'acme/acme_new' })
  const sentence = 'This job runs in acme/acme_new. Packages can be read from acme/acme_ui only.'
  expect([renamed.status, renamed.body.error.message]).toEqual([403, sentence])
  await addRule({ tokenIssuerId: await addIssuer('custom', 'custom'), repository: 'Acme/\u00c4' })
  const other = await read({ ...plain, repository: 'acme/\u00c4' }, { path: 'custom' })
  const cased = 'This job runs in acme/U+00C4. Packages can be read from Acme/\u00c4 only.'
  expect([other.status, other.body.error.message]).toEqual([403, cased])
  expect((await read({ ...plain, repository: 'Acme/\u00c4' }, { path: 'custom' })).status).toBe(200)
  expect(await rejections()).toEqual([sentence, cased])
})

it('publishes prereleases and builds from the tag that names them exactly', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  for (const version of ['1.0.0-dev.1', '1.0.0+1', '1.0.0-rc.1+build.2']) {
    const archive = await versionOf(version)
    for (const tag of ['v1.0.0', `v${version}.1`, `V${version}`, `v${version.replace('+', '%2B')}-`]) {
      const { status, body } = await publishArchive(await job({ ref: `refs/tags/${tag}` }), archive)
      expect([version, tag, status, body.error?.message]).toEqual([version, tag, 403, expect.stringContaining('This job runs on')])
    }
    const answer = await publishArchive(await job({ ref: `refs/tags/v${version}` }), archive)
    expect([version, answer.status, answer.body]).toEqual([version, 200, expect.anything()])
  }
})

it('needs one rule that allows a publish, in any order, and explains with the rule that is closest', async () => {
  await using all = await trustedApp()
  const { member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await publish(member, { name: 'acme_api', version: '0.9.0' })
  await addRule({ repository: 'acme/other' }, '/api/packages/acme_api')
  const rules = [
    { repository: 'acme/*', isReadOnly: true },
    { ...acmeRule, environment: 'release' },
    { ...acmeRule, workflow: 'nightly.yml' },
  ]
  let patch = 0
  for (const order of [rules, rules.toReversed()]) {
    const ids = []
    for (const rule of order) ids.push(await addRule(rule))
    const version = `1.0.${patch++}`
    const publishFrom = async (claims: object) =>
      publishArchive(await job({ ref: `refs/tags/v${version}`, ...claims }), await versionOf(version))
    expect((await publishFrom({})).body.error.message).toBe(
      'This job runs in no environment. acme_ui can be published from the environment release only.',
    )
    expect((await publishFrom({ ...plain, repository: 'acme/other' })).body.error.message).toBe(
      'Jobs of acme/other can read packages, but not publish acme_ui.',
    )
    expect((await publishFrom({ environment: 'release' })).status).toBe(200)
    for (const id of ids) await member.delete(`/api/trusted-publishers/${id}`)
  }
})

it('keeps rules of a package that changes its publisher, and applies those of a publisher to its packages only', async () => {
  await using all = await trustedApp()
  const { admin, member, addRule, job } = all
  for (const id of ['acme', 'other']) {
    await admin.post('/api/publishers', { ...acme, id })
    await admin.put(`/api/publishers/${id}/members/${member.id}`, { role: 'admin' })
  }
  const moveTo = (publisherId: string | null) => member.put('/api/packages/acme_ui/publisher', { publisherId })
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule({ repository: 'acme/all' }, '/api/publishers/acme')
  const ofPublisher = await job({ ...plain, repository: 'acme/all', repository_id: '7', ref: 'refs/heads/main' })
  const early = await publishArchive(ofPublisher, await versionOf('1.0.0'))
  expect([early.status, early.body.error.message]).toEqual([
    403,
    'acme_ui has no trusted publisher for acme/all (GitHub Actions). Add one on the page of the package.',
  ])
  await moveTo('acme')
  expect((await publishArchive(ofPublisher, await versionOf('1.0.0'))).status).toBe(200)
  await addRule(acmeRule)

  const uploadId = await upload(ofPublisher, await versionOf('1.1.0'))
  expect((await moveTo('other')).status).toBe(200)
  const finished = await ofPublisher.get(`/api/packages/versions/newUploadFinish?upload_id=${uploadId}`)
  expect([finished.status, finished.body.error.message]).toEqual([
    403,
    'This job runs in acme/all. acme_ui can be published from acme/acme_ui only.',
  ])
  expect((await publishArchive(await job({ ref: 'refs/tags/v1.2.0' }), await versionOf('1.2.0'))).status).toBe(200)
  const log = await admin.get('/api/packages/acme_ui/activity-log')
  expect(log.body.entries.map(({ summary }: { summary: string }) => summary)).toContain(
    `${member.user.displayName} transferred acme_ui to the publisher other, with its trusted publisher`,
  )
  await moveTo(null)
  expect((await publishArchive(await job({ ref: 'refs/tags/v1.3.0' }), await versionOf('1.3.0'))).status).toBe(200)
})
