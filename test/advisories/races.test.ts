import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { importAdvisoryFile } from '../../server/operations/admin/content.ts'
import { testApp } from '../app.ts'
import { advisory, importMutation } from '../support/advisories.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const untilFixed = { events: [{ introduced: '0' }, { fixed: '2.0.0' }] }

it('imports advisories from a file while the server runs', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const file = join(app.config.DATA_DIR, 'advisories.json')
  const em = app.services.database.fork()
  const run = () => importAdvisoryFile({ em, config: app.config }, file)
  await expect(run()).rejects.toThrow(/ENOENT/)
  await writeFile(file, JSON.stringify([advisory('SNUG-1', 'acme', untilFixed), advisory('SNUG-2', 'acme', untilFixed)]))
  expect(await run()).toBe('Imported 2, updated 0, unchanged 0.')
  expect(await run()).toBe('Imported 0, updated 0, unchanged 2.')
  expect((await alice.get('/api/packages/acme/advisories')).body.advisories).toHaveLength(2)
  await writeFile(file, 'nonsense')
  await expect(run()).rejects.toThrow('osv: is not valid JSON.')
  const { entries } = (await (await app.admin()).get('/api/admin/audit-log?kind=server.settings_updated')).body
  expect(entries).toMatchObject([{ summary: 'The operator imported 2 security advisories: SNUG-1, SNUG-2', agent: null }])
})

it('shows advisories of public packages to anonymous users, without versions that need a private one', async () => {
  await using app = await publicApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await alice.put('/api/packages/acme/visibility', { visibility: 'public', confirm: 'acme' })
  await publish(alice, dependent('acme', '1.1.0', ['hidden']))
  const osv = JSON.stringify([advisory('SNUG-1', 'acme', { ...untilFixed, versions: ['1.1.0'] }), advisory('SNUG-2', 'hidden', untilFixed)])
  await admin.graphql(importMutation, { osv })
  expect((await app.anonymous.get('/api/packages/acme')).body.advisoriesUpdated).toMatch(/Z$/)
  const versions = async (actor: typeof alice) => (await actor.get('/api/packages/acme/advisories')).body.advisories[0].affected[0].versions
  expect(await versions(app.anonymous)).toEqual(['1.0.0'])
  expect(await versions(alice)).toEqual(['1.0.0', '1.1.0'])
  expect(await app.anonymous.get('/api/packages/hidden/advisories')).toMatchObject({ status: 401 })
})

it('is never missed by a package that is created concurrently', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  for (let round = 0; round < 12; round++) {
    const name = `acme_${round}`
    const [answer] = await Promise.all([
      admin.graphql(importMutation, { osv: JSON.stringify(advisory(`SNUG-${round}`, name, untilFixed)) }),
      publish(alice, { name, version: '1.0.0' }),
    ])
    expect(answer.body.data.importAdvisories.imported).toEqual([`SNUG-${round}`])
    expect((await alice.get(`/api/packages/${name}`)).body, name).toHaveProperty('advisoriesUpdated')
    expect((await alice.get(`/api/packages/${name}/advisories`)).body.advisories, name).toHaveLength(1)
  }
})

it('is stored once when imported concurrently', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const list = Array.from({ length: 5 }, (_, index) => advisory(`SNUG-${index}`, 'acme', untilFixed))
  const answers = await Promise.all(
    [list, list.toReversed(), list].map((advisories) => admin.graphql(importMutation, { osv: JSON.stringify(advisories) })),
  )
  const imported: string[] = answers.flatMap(({ body }) => body.data.importAdvisories.imported)
  expect(imported.toSorted()).toEqual(list.map(({ id }) => id))
  expect((await alice.get('/api/packages/acme/advisories')).body.advisories).toHaveLength(5)
})

const withdrawal = 'mutation { withdrawAdvisory(input: { osvId: "SNUG-1" }) { advisory { summary } } }'
const removal = 'mutation { removeAdvisory(input: { osvId: "SNUG-1" }) }'
const stored = { lock: "select id from advisories where osv_id = 'SNUG-1'" }

it('withdraws the state that a concurrent import of a newer version left', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const older = advisory('SNUG-1', 'acme', { ...untilFixed, summary: 'Older' })
  await admin.graphql(importMutation, { osv: JSON.stringify(older) })
  const document = JSON.stringify({ ...older, summary: 'Newer', modified: '2099-01-10T00:00:00Z' })
  const modified = app.config.DB_BACKEND === 'sqlite' ? Date.parse('2099-01-10T00:00:00Z') : "'2099-01-10T00:00:00Z'"
  const changes = [`update advisories set summary = 'Newer', modified_at = ${modified}, document = '${document}'`]
  const { body } = await duringTransaction(app, { ...stored, changes }, () => admin.graphql(withdrawal))
  expect(body.data.withdrawAdvisory.advisory.summary).toBe('Newer')
  const [row] = await app.services.database.reads.all<{ document: string }>('select document from advisories')
  expect(JSON.parse(row?.document ?? '')).toMatchObject({
    summary: 'Newer',
    modified: '2099-01-10T00:00:00.001Z',
    withdrawn: expect.any(String),
  })
})

it('is removed once and cannot be withdrawn afterwards', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await admin.graphql(importMutation, { osv: JSON.stringify(advisory('SNUG-1', 'acme', untilFixed)) })
  const answers = await duringTransaction(app, stored, () => Promise.all([admin.graphql(removal), admin.graphql(removal)]))
  const codes: string[] = answers.map(({ body }) => body.errors?.[0].extensions.code ?? 'done')
  expect(codes.toSorted()).toEqual(['NotFound', 'done'])
  await admin.graphql(importMutation, { osv: JSON.stringify(advisory('SNUG-1', 'acme', untilFixed)) })
  const { body } = await duringTransaction(app, { ...stored, changes: ['delete from advisories'] }, () => admin.graphql(withdrawal))
  expect(body.errors[0].extensions.code).toBe('NotFound')
})
