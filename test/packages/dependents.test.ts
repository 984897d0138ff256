import { expect, it } from 'vitest'
import {
  countAllDependents,
  describeChains,
  dependentsOfVersion,
  publicDependents,
} from '../../server/registry/packages/dependents/breakage.ts'
import { countDependents, listDependents, thisServer } from '../../server/registry/packages/dependents/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const here = { SERVER_URL: 'http://localhost:8080' }
const hosted = (name: string, version = '^1.0.0', url = here.SERVER_URL) => `  ${name}:\n    hosted: ${url}\n    version: '${version}'\n`
const dependingOn = (...names: string[]) => `dependencies:\n${names.map((name) => hosted(name)).join('')}`

/** Makes packages public directly in the database. */
const makePublicDirectly = ({ services }: TestApp, ...names: string[]) =>
  services.database
    .fork()
    .getConnection()
    .execute(`update packages set visibility = 'public' where name in (${names.map((name) => `'${name}'`).join(', ')})`)

const readerOf = ({ services: { database } }: TestApp) => ({ em: database.fork(), config: here, database })
const chainsOf = (app: TestApp, ...names: string[]) => publicDependents(readerOf(app), names)

it('finds packages whose latest version depends on a package here or without a registry', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await publish(alice, { name: 'before', version: '1.0.0', pubspec: dependingOn('icons') })
  await publish(alice, { name: 'before', version: '1.1.0' })
  await publish(alice, { name: 'default_registry', version: '1.0.0', pubspec: 'dependencies:\n  icons: ^1.0.0' })
  await publish(alice, { name: 'elsewhere', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '^1.0.0', 'https://pub.dev')}` })
  await publish(alice, {
    name: 'shop',
    version: '1.0.0',
    pubspec: `dev_dependencies:\n${hosted('icons', 'any', 'HTTP://LocalHost:8080/')}`,
  })
  const both = `${dependingOn('icons')}dev_dependencies:\n${hosted('icons', '1.0.0')}`
  await publish(alice, { name: 'app', version: '2.0.0', pubspec: both })

  const em = app.services.database.fork()
  const all = await listDependents(em, thisServer(here), { name: 'icons', limit: 10 })
  expect(all).toMatchObject([
    { name: 'app', version: '2.0.0', constraint: '^1.0.0', kind: 'direct', isBare: false },
    { name: 'default_registry', version: '1.0.0', constraint: '^1.0.0', kind: 'direct', isBare: true },
    { name: 'shop', version: '1.0.0', constraint: 'any', kind: 'dev', isBare: false },
  ])
  expect(await countDependents(em, thisServer(here), 'icons')).toBe(3)
  expect(await listDependents(em, thisServer(here), { name: 'icons', limit: 1, after: 'app' })).toEqual(all.slice(1, 2))
})

it('filters dependents by name, and counts indirect ones', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0', pubspec: dependingOn('loop') })
  for (const [name, need] of [
    ['ui', 'icons'],
    ['ui_kit', 'icons'],
    ['shop', 'ui'],
    ['admin', 'ui_kit'],
    ['loop', 'shop'],
  ] as const)
    await publish(alice, { name, version: '1.0.0', pubspec: dependingOn(need) })
  await publish(alice, { name: 'tests', version: '1.0.0', pubspec: `dev_dependencies:\n${hosted('icons')}` })
  const look = async (query: string) => {
    const { body } = await alice.graphql(
      'query ($query: String) { package(name: "icons") { allDependents { count isExact } dependents(first: 9, query: $query) { totalCount nodes { package { name } } } } }',
      { query },
    )
    const { allDependents, dependents } = body.data.package
    return {
      all: allDependents,
      total: dependents.totalCount,
      names: dependents.nodes.map((one: { package: { name: string } }) => one.package.name),
    }
  }
  const all = { count: 5, isExact: true }
  expect(await look('')).toEqual({ all, total: 3, names: ['tests', 'ui', 'ui_kit'] })
  expect(await look('I_')).toEqual({ all, total: 1, names: ['ui_kit'] })
  expect(await look('%')).toEqual({ all, total: 0, names: [] })
  const anonymous = await app.anonymous.graphql('{ package(name: "icons") { allDependents { count } } }')
  expect(anonymous.body.errors ?? anonymous.body.error).toBeTruthy()
})

it('stops counting at 1,000 dependents and at long chains', async () => {
  await using app = await testApp()
  const em = app.services.database.fork()
  const alice = await app.member()
  await publish(alice, { name: 'base', version: '1.0.0' })
  const row = (await em.execute<{ id: string }[]>("select id from packages where name = 'base'"))[0]
  const add = (name: string, dependent: string) =>
    em.execute(
      "insert into package_dependents (name, package_name, package_id, version, direct_source, dev_source) values (?, ?, ?, '1.0.0', '', '-')",
      [name, dependent, row?.id ?? ''],
    )
  for (let index = 0; index < 30; index++) await add(`chain_${index}`, `chain_${index + 1}`)
  expect(await countAllDependents(em.fork(), thisServer(here), 'chain_0')).toEqual({ count: 25, isExact: false })
  for (let index = 0; index < 1001; index++) await add('wide', `user_${index}`)
  expect(await countAllDependents(em.fork(), thisServer(here), 'wide')).toEqual({ count: 1000, isExact: false })
})

it('follows public dependents transitively by the shortest chain and handles cycles', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const packages: [string, string[]][] = [
    ['icons', ['app']], // A cycle.
    ['ui', ['icons']],
    ['app', ['ui', 'icons']],
    ['suite', ['ui']],
    ['inner', ['icons']],
    ['outer', ['inner']],
    ['old', ['icons']],
  ]
  for (const [name, needs] of packages) await publish(alice, { name, version: '1.0.0', pubspec: dependingOn(...needs) })
  await publish(alice, { name: 'old', version: '2.0.0' })
  await publish(alice, { name: 'worker', version: '1.0.0', pubspec: `dev_dependencies:\n${hosted('icons')}` })
  expect(await chainsOf(app, 'icons')).toEqual([])

  await makePublicDirectly(app, 'icons', 'ui', 'app', 'suite', 'outer', 'old', 'worker')
  // `inner` is private, so `outer` is unreachable. An older version counts, a dev dependency does not.
  const chains = [
    ['app', 'icons'],
    ['old', 'icons'],
    ['suite', 'ui', 'icons'],
    ['ui', 'icons'],
  ]
  expect(await chainsOf(app, 'icons')).toEqual(chains)
  expect(describeChains(chains)).toBe('app -> icons, old -> icons, suite -> ui -> icons, ui -> icons')
  expect(await chainsOf(app, 'icons', 'ui')).toEqual([
    ['app', 'icons'],
    ['old', 'icons'],
    ['suite', 'ui'],
  ])
  expect(await chainsOf(app)).toEqual([])
  const reader = readerOf(app)
  const statements = await app.countQueries(async () => {
    const both = await Promise.all(['icons', 'ui'].map((name) => publicDependents(reader, [name])))
    expect(both[0]).toEqual(chains)
    expect(both[1]).toEqual([
      ['app', 'ui'],
      ['icons', 'app', 'ui'],
      ['old', 'icons', 'app', 'ui'],
      ['suite', 'ui'],
    ])
  })
  // One statement per level for both packages: icons has two levels below it, ui three, and the last finds no more.
  expect(statements).toBe(4)
})

it('finds a version needed when no other one satisfies a dependent', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) await publish(alice, { name: 'icons', version })
  await publish(alice, { name: 'wide', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '^1.0.0')}` })
  await publish(alice, { name: 'pinned', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '1.1.0')}` })
  await publish(alice, { name: 'next', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '^2.0.0')}${hosted('pinned')}` })
  await makePublicDirectly(app, 'icons', 'wide', 'pinned', 'next')
  const needed = (version: string) => dependentsOfVersion(readerOf(app), 'icons', version)
  expect(await needed('1.0.0')).toEqual([])
  expect(await needed('1.1.0')).toEqual([
    ['next', 'pinned', 'icons'],
    ['pinned', 'icons'],
  ])
  expect(await needed('2.0.0')).toEqual([['next', 'icons']])
  await app.services.database
    .fork()
    .getConnection()
    .execute("update package_versions set retracted_at = created_at where version = '1.0.0'")
  expect(await needed('1.1.0')).toContainEqual(['wide', 'icons'])
})
