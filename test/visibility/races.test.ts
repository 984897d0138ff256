import { expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { anotherInstance } from '../support/instances.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const change = (actor: Actor, name: string, visibility: string, closure: string[] = []) =>
  actor.put(`/api/packages/${name}/visibility`, { visibility, confirm: name, closure })

it('never makes a package public whose dependency becomes private concurrently', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await publish(alice, dependent('app', '1.0.0', ['icons']))
  for (let round = 0; round < interleavings; round++) {
    await change(alice, 'icons', 'public')
    const answers = await interleave(app, round, [() => change(alice, 'app', 'public'), () => change(alice, 'icons', 'private')])
    // The later change saw the earlier one: a missing confirmation or a dependent that would break.
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    const listing = await app.anonymous.get('/api/packages/app')
    expect(listing.status).toBe(answers[0]?.status === 200 ? 200 : 401)
    if (answers[0]?.status === 200) expect((await app.anonymous.get('/api/packages/icons')).status).toBe(200)
    await change(alice, 'app', 'private')
    await change(alice, 'icons', 'private')
  }
})

it('makes two mutually dependent packages public in concurrent requests', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, dependent('left', '1.0.0', ['right']))
  await publish(alice, dependent('right', '1.0.0', ['left']))
  for (let round = 0; round < interleavings; round++) {
    const answers = await interleave(app, round, [
      () => change(alice, 'left', 'public', ['right']),
      () => change(alice, 'right', 'public', ['left']),
    ])
    // The second request finds the change already made.
    expect(statuses(answers)).toEqual([200, 200])
    const changed = answers.map(({ body }): number => body.changed.length)
    expect(Math.min(...changed) + Math.max(...changed)).toBe(2)
    for (const name of ['left', 'right'])
      await alice.put(`/api/packages/${name}/visibility`, { visibility: 'private', confirm: name, acceptBreakage: true })
  }
})

it('keeps concurrent changes of different settings', async () => {
  await using app = await publicApp()
  const admin = await app.admin()
  const set = (wanted: object) => admin.put('/api/admin/public-packages', wanted)
  for (let round = 0; round < interleavings; round++) {
    await set({ enabled: true, requiresServerAdmin: false })
    await interleave(app, round, [
      () => set({ enabled: true, requiresServerAdmin: true }),
      () => set({ enabled: false }),
      () => set({ enabled: true }),
    ])
    expect((await admin.get('/api/admin/public-packages')).body).toMatchObject({ requiresServerAdmin: true })
  }
})

it('shows what remains readable immediately, on every instance', async () => {
  await using app = await publicApp()
  await using other = await anotherInstance(app)
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await publish(alice, dependent('app', '1.0.0', ['icons']))
  await publish(alice, { name: 'app', version: '0.9.0' })
  await change(alice, 'app', 'public', ['icons'])
  const latest = async () => {
    const answers = await Promise.all([app, other ?? app].map((one) => one.anonymous.get('/api/packages/app')))
    return answers.map(({ body }) => body.latest?.version)
  }
  for (let round = 0; round < 5; round++) {
    expect(await latest()).toEqual(['1.0.0', '1.0.0'])
    await alice.put('/api/packages/icons/visibility', { visibility: 'private', confirm: 'icons', acceptBreakage: true })
    expect(await latest()).toEqual(['0.9.0', '0.9.0'])
    await change(alice, 'icons', 'public')
    expect(await latest()).toEqual(['1.0.0', '1.0.0'])
  }
})

it('never fails when a package is deleted while it becomes public', async () => {
  await using app = await publicApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (let round = 0; round < interleavings; round++) {
    const name = `gone_${round}`
    await publish(alice, { name, version: '1.0.0' })
    const [changed, deleted] = await interleave(app, round, [
      () => alice.put(`/api/packages/${name}/visibility`, { visibility: 'public', confirm: name }),
      () => admin.delete(`/api/admin/packages/${name}`),
    ])
    expect(deleted).toMatchObject({ status: 200 })
    expect([200, 404]).toContain(changed?.status)
  }
})
