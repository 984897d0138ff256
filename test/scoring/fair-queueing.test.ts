import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { backOffMs } from '../../server/platform/jobs/attempt.ts'
import { claim } from '../../server/platform/jobs/lease.ts'
import { requestPana } from '../../server/analysis/scoring/pana.ts'
import { type TestApp, testApp } from '../app.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { reportOf, storeReport, versionId } from '../support/reports.ts'

/** Claims the queued jobs of a kind in order and returns the names of their packages. */
async function claimAll({ services }: TestApp, kind: string): Promise<string[]> {
  const names: string[] = []
  for (;;) {
    const held = await claim(services.database.fork(), [kind], services.now(), 60_000, { backOffMs })
    if (!held) return names
    const sql = 'select p.name from package_versions v join packages p on p.id = v.package_id where v.id = ?'
    const [row] = await services.database.fork().execute<{ name: string }[]>(sql, [held.subject])
    names.push(row?.name ?? '')
  }
}

const publishAll = async (actor: Actor, ...names: string[]) => {
  for (const name of names) await publish(actor, { name, version: '1.0.0' })
}

it('alternates between publishing accounts, so that a large backlog of one does not delay others', async () => {
  await using app = await testApp()
  const [mallory, alice, bob] = [await app.member(), await app.member(), await app.member()]
  await publishAll(mallory, 'noise_a', 'noise_b', 'noise_c')
  await publishAll(alice, 'good_a', 'good_b')
  await publishAll(bob, 'other')
  expect(await claimAll(app, 'analysis')).toEqual(['noise_a', 'good_a', 'other', 'noise_b', 'good_b', 'noise_c'])
  // No job of this account is queued anymore, so its next job is not delayed.
  await publishAll(mallory, 'noise_d')
  await publishAll(alice, 'good_d')
  expect(await claimAll(app, 'analysis')).toEqual(['noise_d', 'good_d'])
})

it('alternates between accounts in jobs of pana', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publishAll(alice, 'a', 'b', 'c')
  const [mallory, other] = ['the account of mallory', 'another account']
  const ask = async (owner: string, name: string) => {
    const subject = await versionId(app, name)
    await app.services.database.fork().transactional((em) => requestPana(em, { subject, owner }, app.services.now()))
  }
  await ask(mallory, 'a')
  await ask(mallory, 'b')
  await ask(other, 'c')
  expect(await claimAll(app, 'analysis.pana')).toEqual(['a', 'c', 'b'])
})

it('runs new publishes before the rest of many packages that another account made public', async () => {
  await using app = await publicApp()
  const [mallory, bob] = [await app.member(), await app.member()]
  for (const member of [dependent('app', '1.0.0', ['ui']), dependent('ui', '1.0.0', ['icons']), { name: 'icons', version: '1.0.0' }])
    await publish(mallory, member)
  for (const name of ['app', 'ui', 'icons']) await storeReport(app, name, reportOf(1, 1))
  const closure = ['ui', 'icons']
  const change = await mallory.put('/api/packages/app/visibility', { visibility: 'public', confirm: 'app', closure })
  expect(change.status).toBe(200)
  await publishAll(bob, 'fresh')
  expect(await claimAll(app, 'analysis')).toEqual([expect.any(String), 'fresh', expect.any(String), expect.any(String)])
})
