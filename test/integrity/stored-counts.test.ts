import { expect, it } from 'vitest'
import { countDependents, listDependents, repairCounts, thisServer } from '../../server/registry/packages/dependents/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { publish } from '../support/publish.ts'

const here = { SERVER_URL: 'http://localhost:8080' }
const needs = (...names: string[]) => `dependencies:\n${names.map((name) => `  ${name}: ^1.0.0\n`).join('')}`

/** Dependencies of latest versions and totals of packages, computed from all versions. */
async function derived({ services: { database } }: TestApp) {
  const dependents = await database.reads.all<{ name: string; dependent: string }>(
    `select distinct d.name, p.name as dependent from package_dependencies d join package_versions v on v.id = d.version_id
     join packages p on p.id = v.package_id and p.latest_version = v.version where d.sdk is null order by 1, 2`,
  )
  const totals = await database.reads.all<{ name: string; versions: number | string; bytes: number | string }>(
    `select p.name, count(*) as versions, sum(v.archive_bytes) as bytes from packages p join package_versions v on v.package_id = p.id
     group by p.name order by p.name`,
  )
  const requirements = await database.reads.all<object>(
    `select d.name, p.name as dependent, d.kind, d."constraint", p.visibility, count(*) as versions from package_dependencies d
     join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id where d.sdk is null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4`,
  )
  const counts = Map.groupBy(dependents, ({ name }) => name)
  return {
    dependents: Object.fromEntries([...counts].map(([name, rows]) => [name, rows.map(({ dependent }) => dependent)])),
    counts: Object.fromEntries([...counts].map(([name, rows]) => [name, rows.length])),
    totals: totals.map(({ name, versions, bytes }) => [name, Number(versions), Number(bytes)]),
    requirements: requirements.map((row) => Object.values(row).join(' ')),
  }
}

/** The same, as stored. */
async function stored({ services: { database } }: TestApp) {
  const { reads } = database
  const em = database.fork()
  const names = (await reads.all<{ name: string }>('select distinct name from dependent_counts order by name')).map(({ name }) => name)
  const entries = names.map(async (name) => {
    const found = await listDependents(em, thisServer(here), { name, limit: 100 })
    return [name, found.map((dependent) => dependent.name), await countDependents(em, thisServer(here), name)] as const
  })
  const rows = await Promise.all(entries)
  const totals = await reads.all<{ name: string; versions: number | string; bytes: number | string }>(
    'select name, versions, archive_bytes as bytes from package_totals order by name',
  )
  const requirements = await reads.all<object>(
    `select name, package_name, kind, "constraint", case when is_public then 'public' else 'private' end, versions
     from package_requirements order by 1, 2, 3, 4`,
  )
  return {
    dependents: Object.fromEntries(rows.map(([name, dependents]) => [name, dependents])),
    counts: Object.fromEntries(rows.map(([name, , count]) => [name, count])),
    totals: totals.map(({ name, versions, bytes }) => [name, Number(versions), Number(bytes)]),
    requirements: requirements.map((row) => Object.values(row).join(' ')),
  }
}

it('stores dependents and totals that match the versions after every change', async () => {
  await using app = await testApp({ config: { ENFORCE_RETRACTION_WINDOW: false } })
  const admin = await app.admin()
  const holds = async (what: string) => expect(await stored(app), what).toEqual(await derived(app))
  await publish(admin, { name: 'icons', version: '1.0.0' })
  await publish(admin, { name: 'shop', version: '1.0.0', pubspec: needs('icons', 'http') })
  await publish(admin, { name: 'app', version: '1.0.0', pubspec: `${needs('icons')}dev_dependencies:\n  icons: any\n  test: any` })
  expect((await stored(app)).counts).toEqual({ http: 1, icons: 2, test: 1 })
  await holds('new packages')
  await publish(admin, { name: 'shop', version: '2.0.0', pubspec: needs('http', 'test') })
  await holds('a new latest version')
  await publish(admin, { name: 'shop', version: '1.1.0', pubspec: needs('icons', 'other') })
  await holds('an older version')
  await admin.put('/api/packages/shop/versions/2.0.0/options', { isRetracted: true })
  expect((await stored(app)).dependents).toMatchObject({ icons: ['app', 'shop'], other: ['shop'] })
  await holds('a retraction')
  await admin.put('/api/packages/shop/versions/2.0.0/options', { isRetracted: false })
  await holds('the end of a retraction')
  const visible = (visibility: string) =>
    admin.put('/api/packages/shop/visibility', { visibility, confirm: 'shop', closure: [], acceptBreakage: true })
  expect((await visible('public')).status).toBe(200)
  expect((await stored(app)).requirements).toContain('icons shop direct ^1.0.0 public 2')
  await holds('a public package')
  expect((await visible('private')).status).toBe(200)
  await holds('a private package')
  await admin.delete('/api/admin/packages/shop/versions/2.0.0')
  await holds('the deletion of the latest version')
  await admin.delete('/api/admin/packages/app')
  expect((await stored(app)).counts).toEqual({ http: undefined, icons: 1, other: 1 })
  await holds('the deletion of a package')
  const { body } = await admin.graphql('{ deletedPackages(first: 5) { nodes { id name } } }')
  for (const { id } of body.data.deletedPackages.nodes as { id: string }[]) {
    await admin.graphql('mutation ($id: ID!) { restoreDeletedPackage(input: { id: $id }) { package { name } } }', { id })
    await holds('a restoration')
  }
  expect((await stored(app)).counts).toEqual({ http: 1, icons: 1, test: 2 })
})

it('counts concurrent publications that name the same packages in different orders', async () => {
  await using app = await testApp()
  const member = await app.member()
  const names = Array.from({ length: 12 }, (_, index) => `dependency_${index}`)
  const orderOf = (index: number) => [...names.slice(index % 12), ...names.slice(0, index % 12)]
  await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      publish(member, {
        name: `package_${index}`,
        version: '1.0.0',
        pubspec: needs(...(index % 2 === 0 ? orderOf(index) : orderOf(index).toReversed())),
      }),
    ),
  )
  expect((await stored(app)).counts).toEqual(Object.fromEntries(names.map((name) => [name, 24])))
  expect(await stored(app)).toEqual(await derived(app))
})

it('corrects stored counts that do not match the versions, and leaves others alone', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'shop', version: '1.0.0', pubspec: needs('icons', 'http') })
  await publish(admin, { name: 'app', version: '1.0.0', pubspec: needs('icons', 'test') })
  const { database } = app.services
  const em = database.fork()
  for (const damage of [
    "delete from package_dependents where name = 'icons'",
    "update package_dependents set direct_constraint = 'any', direct_source = 'https://elsewhere.example'",
    "insert into package_dependents select 'nothing', package_name, package_id, version, direct_constraint, direct_source, dev_constraint, dev_source from package_dependents where name = 'http'",
    'update dependent_counts set dependents = 7',
    'delete from dependent_counts',
    "insert into dependent_counts values ('nothing', '', '-', 3)",
    "delete from package_requirements where name = 'icons'",
    'update package_requirements set versions = 3',
    'update package_requirements set is_public = true',
    'update package_totals set versions = 7',
    'delete from package_totals',
  ]) {
    await em.execute(damage)
    await repairCounts(database)
    expect(await stored(app), damage).toEqual(await derived(app))
  }
  const { statements } = await attributeStatements(() => repairCounts(database))
  expect(statements.length).toBeGreaterThan(0)
  expect(statements.filter((sql) => /^(?:insert|update|delete)/.test(sql))).toEqual([])
})
