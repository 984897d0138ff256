import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { packageArchive } from '../support/archive.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

it('publishes a version from its tag, and records the job as its provenance', async () => {
  await using all = await trustedApp()
  const { app, member, job, addRule, issuer } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  const actor = await job()
  const answer = await publishArchive(actor, await packageArchive({ name: 'acme_ui', version: '1.0.0' }))
  expect(answer.body).toEqual({ success: { message: `Successfully uploaded acme_ui 1.0.0: ${app.config.SERVER_URL}/packages/acme_ui` } })
  const { body } = await member.graphql(
    '{ package(name: "acme_ui") { latest { publishedBy { uuid } provenance { issuerUrl issuerName repository repositoryId repositoryUrl commit commitUrl ref workflow environment event runId runUrl } } } }',
  )
  expect(body.data.package.latest).toEqual({
    publishedBy: null,
    provenance: {
      issuerUrl: issuer.url(),
      issuerName: 'GitHub Actions',
      repository: 'acme/acme_ui',
      repositoryId: '1',
      repositoryUrl: `http://${issuer.host}/acme/acme_ui`,
      commit: 'a'.repeat(40),
      commitUrl: `http://${issuer.host}/acme/acme_ui/commit/${'a'.repeat(40)}`,
      ref: 'refs/tags/v1.0.0',
      workflow: '.github/workflows/publish.yml',
      environment: null,
      event: 'push',
      runId: '77',
      runUrl: `http://${issuer.host}/acme/acme_ui/actions/runs/77`,
    },
  })
  const log = await member.get('/api/packages/acme_ui/activity-log')
  expect(log.body.entries[0]).toMatchObject({
    agent: null,
    summary: 'acme/acme_ui (GitHub Actions) published acme_ui 1.0.0',
    version: '1.0.0',
  })
})

it('adds no statement to a publish by a person, and a fixed number to one by a job', async () => {
  await using all = await trustedApp({ alone: true })
  const { app, member, job, addRule } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const countPublish = async (actor: Actor, version: string) => {
    const archive = await packageArchive({ name: 'acme_ui', version })
    return app.countQueries(() => publishArchive(actor, archive))
  }
  await countPublish(member, '0.9.1')
  const before = await countPublish(member, '0.9.2')
  await addRule({ ...acmeRule, tagPattern: null })
  await addRule({ ...acmeRule, repository: 'acme/other' })
  expect(await countPublish(member, '0.9.3')).toBe(before)
  const actor = await job()
  await countPublish(actor, '1.0.0')
  const ofJob = await countPublish(actor, '1.0.1')
  expect(await countPublish(actor, '1.0.2')).toBe(ofJob)
  expect(ofJob - before).toBeLessThanOrEqual(6)
})
