import { v7 as uuid } from 'uuid'
import { expect, it } from 'vitest'
import { db } from '../../server/platform/db/query.ts'
import { insertRows, readRow } from '../../server/platform/db/statements.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { publish } from '../support/publish.ts'

const hosted = (needs: Record<string, string>) =>
  Object.keys(needs).length === 0
    ? ''
    : `dependencies:\n${Object.entries(needs)
        .map(([name, constraint]) => `  ${name}:\n    hosted: http://localhost:8080\n    version: '${constraint}'\n`)
        .join('')}`

const add = (actor: Actor, name: string, version: string, needs: Record<string, string> = {}) =>
  publish(actor, { name, version, pubspec: hosted(needs) })

type Node = { package: { name: string }; version: { version: string } | null; problem: string | null; dependencies: { name: string }[] }

async function closure(actor: Actor, name: string): Promise<{ nodes: Node[]; isTruncated: boolean; isUnresolvable: boolean }> {
  const { body } = await actor.graphql(
    `{ package(name: "${name}") { latest { dependencyClosure { isTruncated isUnresolvable nodes { package { name } version { version } problem dependencies { name } } } } } }`,
  )
  expect(body.errors).toBeUndefined()
  return body.data.package.latest.dependencyClosure
}

/** Returns `name version` of each node, with its problem. */
const selected = ({ nodes }: { nodes: Node[] }) =>
  nodes.map(({ package: { name }, version, problem }) => [name, version?.version, problem].filter(Boolean).join(' '))

it('selects the highest version of each package that satisfies all constraints', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.5.0', '1.6.0-dev.1', '2.0.0']) await add(alice, 'icons', version)
  await add(alice, 'ui', '1.0.0', { icons: '>=1.0.0 <1.5.0' })
  // The version of `ui` that app selects first needs older icons than app itself.
  await add(alice, 'app', '1.0.0', { icons: '^1.0.0', ui: 'any' })
  expect(selected(await closure(alice, 'app'))).toEqual(['app 1.0.0', 'icons 1.0.0', 'ui 1.0.0'])
  await alice.put('/api/packages/icons/versions/1.5.0/options', { isRetracted: true })
  await add(alice, 'dev', '1.0.0', { icons: '>=1.5.0 <2.0.0-0' })
  expect(selected(await closure(alice, 'dev'))).toEqual(['dev 1.0.0', 'icons 1.6.0-dev.1'])
})

it('reports conflicts and constraints that no version satisfies, and ends at cycles', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await add(alice, 'icons', '1.0.0')
  await add(alice, 'icons', '2.0.0', { app: '^9.0.0' })
  await add(alice, 'ui', '1.0.0', { icons: '^1.0.0', ghost: 'any', missing: '^3.0.0', http_here: 'any' })
  await add(alice, 'missing', '1.0.0')
  await add(alice, 'app', '1.0.0', { icons: '^2.0.0', ui: '^1.0.0' })
  const found = await closure(alice, 'app')
  expect(selected(found)).toEqual(['app 1.0.0 CONFLICT', 'icons 2.0.0 CONFLICT', 'ui 1.0.0', 'missing UNSATISFIED'])
  expect(found.isUnresolvable).toBe(true)
  expect(found.nodes[2]?.dependencies.map(({ name }) => name)).toEqual(['icons', 'ghost', 'missing', 'http_here'])
})

it('tries older versions of other packages to avoid a conflict, as pub does', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.4.0', '2.0.0', '3.0.0']) await add(alice, 'meta', version)
  // The highest analyzer needs newer meta than test allows.
  await add(alice, 'analyzer', '5.0.0', { meta: '^1.0.0' })
  for (const version of ['6.0.0', '6.1.0', '6.2.0']) await add(alice, 'analyzer', version, { meta: '^3.0.0' })
  await add(alice, 'test', '1.0.0', { meta: '>=1.4.0 <3.0.0', analyzer: '>=5.0.0 <7.0.0' })
  await add(alice, 'app', '1.0.0', { analyzer: 'any', test: 'any' })
  const found = await closure(alice, 'app')
  expect(selected(found)).toEqual(['app 1.0.0', 'analyzer 5.0.0', 'test 1.0.0', 'meta 1.4.0'])
  expect(found.isUnresolvable).toBe(false)

  // The highest build needs a version of meta that is not on this server.
  await add(alice, 'build', '1.0.0', { meta: '^2.0.0' })
  await add(alice, 'build', '2.0.0', { meta: '^4.0.0' })
  await add(alice, 'tool', '1.0.0', { build: 'any' })
  expect(selected(await closure(alice, 'tool'))).toEqual(['tool 1.0.0', 'build 1.0.0', 'meta 2.0.0'])

  // Only an old version of a package far from the conflict avoids it: `wide` is unrelated.
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) await add(alice, 'wide', version)
  await add(alice, 'far', '1.0.0')
  await add(alice, 'far', '2.0.0', { near: '^2.0.0' })
  await add(alice, 'near', '2.0.0', { meta: '^3.0.0' })
  await add(alice, 'cli', '1.0.0', { far: 'any', wide: 'any', meta: '<3.0.0' })
  expect(selected(await closure(alice, 'cli'))).toEqual(['cli 1.0.0', 'far 1.0.0', 'wide 1.2.0', 'meta 2.0.0'])
})

it('reports a conflict as certain only after all combinations were tried', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '2.0.0']) await add(alice, 'meta', version)
  const needsOf = (one: string, other: string) => ({ [one]: 'any', [other]: 'any' })
  for (const version of ['1.0.0', '2.0.0', '3.0.0']) {
    await add(alice, 'left', version, { meta: '^1.0.0' })
    await add(alice, 'right', version, { meta: '^2.0.0' })
  }
  await add(alice, 'app', '1.0.0', needsOf('left', 'right'))
  expect(await closure(alice, 'app')).toMatchObject({ isUnresolvable: true })
  // 40 × 40 combinations: each version of `even` rejects each of `odd` by a package of its own.
  await add(alice, 'pair', '1.0.0')
  for (let index = 1; index <= 40; index++) {
    await add(alice, 'pair', `2.${index}.0`)
    await add(alice, 'even', `1.${index}.0`, { pair: `2.${index}.0` })
    await add(alice, 'odd', `1.${index}.0`, { even: 'any', pair: '1.0.0' })
  }
  await add(alice, 'many', '1.0.0', needsOf('even', 'odd'))
  const found = await closure(alice, 'many')
  expect(found.isUnresolvable).toBe(false)
  expect(found.nodes.some(({ problem }) => problem === 'CONFLICT')).toBe(true)
})

/** Stores copies of a package with one version, which is faster than publishing them. */
async function copy({ services }: TestApp, name: string, copies: string[]): Promise<void> {
  const em = services.database.fork()
  const pkg = await readRow(em, db.selectFrom('packages').selectAll().where('name', '=', name))
  const version = pkg && (await readRow(em, db.selectFrom('package_versions').selectAll().where('package_id', '=', pkg.id)))
  if (!version) throw new Error(`${name} is not stored.`)
  const packages = copies.map((other) => ({ ...pkg, id: uuid(), name: other }))
  await em.transactional(async (inside) => {
    await insertRows(inside, 'packages', packages)
    await insertRows(
      inside,
      'package_versions',
      packages.map(({ id }) => ({ ...version, id: uuid(), package_id: id })),
    )
  })
}

it('stops at 200 packages', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const names = Array.from({ length: 205 }, (_, index) => `part_${index}`)
  await add(alice, 'part_0', '1.0.0')
  await copy(app, 'part_0', names.slice(1))
  // A version has at most 100 dependencies.
  const groups = [names.slice(0, 90), names.slice(90, 180), names.slice(180)]
  for (const [index, group] of groups.entries())
    await add(alice, `group_${index}`, '1.0.0', Object.fromEntries(group.map((name) => [name, 'any'])))
  await add(alice, 'app', '1.0.0', { group_0: 'any', group_1: 'any', group_2: 'any' })
  const { nodes, isTruncated } = await closure(alice, 'app')
  expect({ count: nodes.length, isTruncated }).toEqual({ count: 200, isTruncated: true })
})

it('takes the same number of statements for many packages on a level as for a few', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const build = async (root: string, width: number) => {
    const leaves = Array.from({ length: width }, (_, index) => `${root}_leaf_${index}`)
    for (const name of leaves) await add(alice, name, '1.0.0')
    await add(alice, root, '1.0.0', Object.fromEntries(leaves.map((name) => [name, '^1.0.0'])))
  }
  await build('few', 2)
  await build('many', 12)
  // Writes in the background make the server read the caller's row again.
  const isOfRequest = (sql: string) => !/from "?users|access_tokens/.test(sql)
  const statements = async (name: string) => {
    const { result, statements: run } = await attributeStatements(() => closure(alice, name))
    return { nodes: result.nodes.length, queries: run.filter(isOfRequest).length }
  }
  const [few, many] = [await statements('few'), await statements('many')]
  expect([few.nodes, many.nodes]).toEqual([3, 13])
  expect(many.queries).toBeLessThanOrEqual(few.queries)
})

it('treats private packages like missing ones for anonymous callers', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await add(alice, 'secret', '1.0.0')
  await add(alice, 'icons', '1.0.0')
  await add(alice, 'icons', '1.1.0', { secret: 'any' })
  await add(alice, 'app', '1.0.0', { icons: '^1.0.0' })
  await makePublic(app, 'icons', 'app')
  expect(selected(await closure(alice, 'app'))).toEqual(['app 1.0.0', 'icons 1.1.0', 'secret 1.0.0'])
  const seen = await closure(app.anonymous, 'app')
  expect(selected(seen)).toEqual(['app 1.0.0', 'icons 1.0.0'])
  expect(JSON.stringify(seen)).not.toContain('secret')
  const query = '{ package(name: "app") { latest { dependencies { name resolved { version } } } } }'
  const resolved = async (actor: Actor) => (await actor.graphql(query)).body.data.package.latest.dependencies
  expect(await resolved(alice)).toEqual([{ name: 'icons', resolved: { version: '1.1.0' } }])
  expect(await resolved(app.anonymous)).toEqual([{ name: 'icons', resolved: { version: '1.0.0' } }])
  await makePublic(app, 'secret')
  await app.services.database.fork().execute("update packages set visibility = 'private' where name = 'icons'")
  expect((await app.anonymous.graphql('{ package(name: "app") { latest { version } } }')).body.data.package).toBeNull()
})
