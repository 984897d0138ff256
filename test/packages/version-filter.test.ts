import { expect, it } from 'vitest'
import { allows, parseConstraint } from '../../server/platform/pub/constraint.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const versions = ['0.9.0', '1.0.0-dev.1', '1.0.0', '1.2.0', '1.2.0+1', '1.10.0', '2.0.0-RC.1', '2.0.0', '11.2.0']

it('lists versions that match a constraint or contain a text, in both orders and page by page', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of versions) await publish(alice, { name: 'acme', version })
  const query = `query ($filter: String, $ascending: Boolean, $after: String) {
    package(name: "acme") { versions(first: 4, filter: $filter, ascending: $ascending, after: $after) { totalCount nodes { version } pageInfo { hasNextPage endCursor } } }
  }`
  async function ask(filter: string | null, ascending = false): Promise<string[]> {
    const found: string[] = []
    for (let after: string | null = null; ;) {
      const { body } = await alice.graphql(query, { filter, ascending, after })
      const { nodes, totalCount, pageInfo } = body.data.package.versions
      found.push(...nodes.map(({ version }: { version: string }) => version))
      if (!pageInfo.hasNextPage) {
        expect(totalCount).toBe(found.length)
        return found
      }
      after = pageInfo.endCursor
    }
  }
  expect(await ask(null)).toEqual(versions.toReversed())
  expect(await ask(' ', true)).toEqual(versions)
  for (const constraint of ['^1.0.0', '>=1.0.0 <2.0.0', '>1.2.0', '<=1.2.0', '^0.9.0', 'any', '>9.0.0 <10.0.0', '^1.0.0-dev']) {
    const parsed = parseConstraint(constraint)
    expect({ constraint, found: await ask(constraint, true) }).toEqual({
      constraint,
      found: versions.filter((version) => parsed && allows(parsed, version)),
    })
  }
  expect(await ask('=1.2.0')).toEqual(['1.2.0'])
  expect(await ask('1.2')).toEqual(['11.2.0', '1.2.0+1', '1.2.0'])
  expect(await ask('rc')).toEqual(['2.0.0-RC.1'])
  expect(await ask('+1')).toEqual(['1.2.0+1'])
  expect(await ask('nothing')).toEqual([])
})

it('refuses invalid filters with an explanation', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  for (const filter of ['^', '>=1', '^01.0.0', '%', "' or 1=1", '\0', 'x'.repeat(201), '^1.0.0 || ^2.0.0']) {
    const { body } = await alice.graphql(
      'query ($filter: String) { package(name: "acme") { versions(first: 1, filter: $filter) { totalCount } } }',
      { filter },
    )
    expect({ filter, error: body.errors?.[0] }).toMatchObject({
      error: { message: expect.stringMatching(/^filter: must/), extensions: { code: 'InvalidInput', field: 'filter' } },
    })
  }
})
