import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const here = 'http://localhost:8080'
const hosted = (name: string, version = '^1.0.0') => `  ${name}:\n    hosted: ${here}\n    version: '${version}'\n`
const publicEnv = { PUBLIC_PACKAGES_ENABLED: 'true' }

it('marks dependencies without a registry on names of this server, for users who may see the name', async () => {
  await using app = await testApp({ env: publicEnv })
  const [alice, owner] = [await app.member(), await app.owner()]
  for (const name of ['icons', 'fonts']) await publish(alice, { name, version: '1.0.0' })
  const pubspec = `dependencies:\n  icons: ^1.0.0\n  fonts: any\n  unknown_here: ^1.0.0\n  flutter:\n    sdk: flutter\n${hosted('colors')}`
  await publish(alice, { name: 'colors', version: '1.0.0' })
  await publish(alice, { name: 'shop', version: '1.0.0', pubspec })
  await owner.put('/api/admin/public-packages', { enabled: true })
  await app.services.database.fork().execute("update packages set visibility = 'public' where name <> 'fonts'")

  const path = '/api/packages/shop/versions/1.0.0/dependencies'
  const query = '{ package(name: "shop") { latest { dependencies { name isBare } } } }'
  const bare = (dependencies: { name: string; isBare: boolean }[]) => dependencies.filter(({ isBare }) => isBare).map(({ name }) => name)
  expect(bare((await alice.get(path)).body.dependencies)).toEqual(['icons', 'fonts'])
  expect(bare((await alice.graphql(query)).body.data.package.latest.dependencies)).toEqual(['icons', 'fonts'])
  // Anonymous users must not learn of the private package.
  expect(bare((await app.anonymous.graphql(query)).body.data.package.latest.dependencies)).toEqual(['icons'])
  expect((await alice.get('/api/packages/icons/dependents')).body.dependents).toEqual([
    { package: 'shop', version: '1.0.0', constraint: '^1.0.0', kind: 'direct', isBare: true },
  ])
  expect((await alice.get('/api/packages/colors/dependents')).body.dependents).toMatchObject([{ package: 'shop', isBare: false }])
})

it('shows administrators all dependents of a package to delete, but refuses because of public ones only', async () => {
  await using app = await testApp({ env: publicEnv })
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) await publish(alice, { name: 'icons', version })
  await publish(alice, { name: 'old_user', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '1.0.0')}` })
  await publish(alice, { name: 'old_user', version: '2.0.0' })
  await publish(alice, { name: 'moved', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '1.0.0')}` })
  await publish(alice, { name: 'moved', version: '1.1.0', pubspec: `dependencies:\n${hosted('icons', '>=1.0.0 <3.0.0')}` })
  await publish(alice, { name: 'moved', version: '2.0.0', pubspec: `dependencies:\n${hosted('icons', '^2.0.0')}` })
  await publish(alice, { name: 'pinned', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '1.1.0')}` })
  await publish(alice, { name: 'tester', version: '1.0.0', pubspec: `dev_dependencies:\n${hosted('icons', '^2.0.0')}` })
  await publish(alice, { name: 'wide', version: '1.0.0', pubspec: 'dependencies:\n  icons: ^1.0.0' })
  const query = `query ($version: SemVer, $after: String) { package(name: "icons") { affectedByDeletion(version: $version, first: 3, after: $after) {
    nodes { name visibility version constraint kind isBare isBroken package { name } } totalCount pageInfo { hasNextPage endCursor } } } }`
  const ask = async (variables: object) => (await admin.graphql(query, variables)).body.data.package.affectedByDeletion
  const row = (name: string, constraint: string, more: object = {}) => ({
    name,
    visibility: 'PRIVATE',
    version: '1.0.0',
    constraint,
    kind: 'DIRECT',
    isBare: false,
    isBroken: true,
    package: { name },
    ...more,
  })
  const first = await ask({})
  expect(first).toMatchObject({ totalCount: 5, pageInfo: { hasNextPage: true } })
  expect(first.nodes).toEqual([row('moved', '^2.0.0', { version: '2.0.0' }), row('old_user', '1.0.0'), row('pinned', '1.1.0')])
  expect((await ask({ after: first.pageInfo.endCursor })).nodes).toEqual([
    row('tester', '^2.0.0', { kind: 'DEV' }),
    row('wide', '^1.0.0', { isBare: true }),
  ])
  // Dependencies of older versions count. No other version satisfies one of them.
  expect((await ask({ version: '1.0.0' })).nodes).toEqual([
    row('moved', '1.0.0'),
    row('old_user', '1.0.0'),
    row('wide', '^1.0.0', { isBare: true, isBroken: false }),
  ])
  expect((await ask({ version: '1.1.0' })).nodes).toEqual([
    row('moved', '>=1.0.0 <3.0.0', { version: '1.1.0', isBroken: false }),
    row('pinned', '1.1.0'),
    row('wide', '^1.0.0', { isBare: true, isBroken: false }),
  ])

  for (const actor of [alice, await app.withScopes(admin, ['write'])]) {
    const { body } = await actor.graphql(query)
    expect(body.errors[0].extensions.code).toBe('InsufficientPermissions')
  }
  expect(await admin.delete('/api/admin/packages/icons/versions/1.1.0')).toMatchObject({ status: 200 })
  expect(await admin.delete('/api/admin/packages/icons')).toMatchObject({ status: 200 })
})
