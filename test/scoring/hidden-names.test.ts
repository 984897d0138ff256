import { expect, it } from 'vitest'
import type { TestApp } from '../app.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { failed, reportOf, storeReport } from '../support/reports.ts'

/** Returns the notes and the error of a report as anonymous users and members read them. REST and GraphQL must agree. */
async function readReports(app: TestApp, name: string) {
  const read = async (reader: { get: TestApp['anonymous']['get']; graphql: TestApp['anonymous']['graphql'] }) => {
    const { body } = await reader.get(`/api/packages/${name}/versions/1.0.0/scoring-report`)
    const query = `{ package(name: "${name}") { version(version: "1.0.0") { score { error report { notes } } } } }`
    const { score } = (await reader.graphql(query)).body.data.package.version
    expect({ error: body.error, notes: body.report?.notes }).toEqual({ error: score.error, notes: score.report?.notes })
    return { error: body.error, notes: body.report?.notes ?? null }
  }
  return { anonymous: await read(app.anonymous), member: await read(await app.member()) }
}

const reportNaming = (name: string) => reportOf(3, 4, { notes: [`Depend on \`${name}\` in place of that.`] })

it('hides reports that name a private package in the dependency tree from anonymous users', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'secret_core', version: '1.0.0' })
  await publish(alice, { name: 'lib', version: '1.0.0' })
  await publish(alice, dependent('lib', '2.0.0', ['secret_core']))
  await publish(alice, dependent('acme', '1.0.0', ['lib']))
  await makePublic(app, 'lib', 'acme')
  // A report that lists all resolved packages, as pana does.
  await storeReport(app, 'acme', reportNaming('secret_core'))
  const { notes } = reportNaming('secret_core')
  expect(await readReports(app, 'acme')).toMatchObject({ anonymous: { notes: null }, member: { notes } })
  await storeReport(app, 'acme', reportNaming('secret_core_of_others'))
  expect((await readReports(app, 'acme')).anonymous.notes).toEqual(reportNaming('secret_core_of_others').notes)
  await failed(app, 'acme', 'secret_core 1.0.0 cannot be read')
  expect(await readReports(app, 'acme')).toMatchObject({
    anonymous: { error: 'The analysis failed.' },
    member: { error: 'secret_core 1.0.0 cannot be read' },
  })
})

it('hides reports that name a replacement once it is private, whether or not scoring is enabled', async () => {
  await using app = await publicApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const name of ['replacement', 'old']) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, dependent('acme', '1.0.0', [], ['old']))
  await alice.put('/api/packages/old/options', { isDiscontinued: true, replacedBy: 'replacement' })
  await makePublic(app, 'acme', 'old', 'replacement')
  await storeReport(app, 'acme', reportNaming('replacement'))
  const { notes } = reportNaming('replacement')
  expect((await readReports(app, 'acme')).anonymous.notes).toEqual(notes)
  await admin.put('/api/admin/sdk/settings', { scoringEnabled: false })
  const hidden = { visibility: 'private', confirm: 'replacement' }
  expect(await alice.put('/api/packages/replacement/visibility', hidden)).toMatchObject({ status: 200 })
  expect(await readReports(app, 'acme')).toMatchObject({ anonymous: { notes: null }, member: { notes } })
})

it('finds names in all parts of a report, without false positives', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['secret', 'web']) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, { name: 'lib', version: '1.0.0' })
  await publish(alice, dependent('lib', '2.0.0', ['secret']))
  await publish(alice, {
    name: 'acme',
    version: '1.0.0',
    pubspec:
      'dependencies:\n  lib:\n    hosted: http://localhost:8080\n    version: any\n  web:\n    hosted: https://pub.dev\n    version: any\n',
  })
  await makePublic(app, 'lib', 'acme')
  const shown = async (note: string) => {
    await storeReport(app, 'acme', reportOf(3, 4, { notes: [note], tags: ['platform:web'] }))
    return (await readReports(app, 'acme')).anonymous.notes !== null
  }
  for (const note of ['Resolved:\nsecret 1.0.0', 'Resolved:\tsecret', '[`secret`]', 'package:secret/secret.dart', 'secret'])
    expect([note, await shown(note)]).toEqual([note, false])
  for (const note of ['a web package', 'secrets', 'my_secret', 'secret://else']) expect([note, await shown(note)]).toEqual([note, true])
})

it('hides names in an existing report after the dependency or the private package is deleted', async () => {
  await using app = await publicApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, { name: 'lib', version: '1.0.0' })
  await publish(alice, dependent('lib', '2.0.0', ['secret']))
  await publish(alice, dependent('acme', '1.0.0', ['lib']))
  await makePublic(app, 'lib', 'acme')
  await storeReport(app, 'acme', reportNaming('secret'))
  for (const path of ['lib/versions/2.0.0', 'secret']) {
    expect((await admin.delete(`/api/admin/packages/${path}`)).status).toBe(200)
    expect((await readReports(app, 'acme')).anonymous.notes).toBeNull()
  }
})

it('checks all reports of a list with one query', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) {
    await publish(alice, { name: 'acme', version })
    await storeReport(app, 'acme', reportOf(3, 4), version)
  }
  await makePublic(app, 'acme')
  const list = (first: number) => () =>
    app.anonymous.graphql(`{ package(name: "acme") { versions(first: ${first}) { nodes { score { report { notes } } } } } }`)
  await list(3)()
  expect(await app.countQueries(list(3))).toBe(await app.countQueries(list(1)))
})
