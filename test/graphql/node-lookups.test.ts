import { encodeGlobalID } from '@pothos/plugin-relay'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'
import { versionId } from '../support/reports.ts'

it('resolves the same id to the same object in every field of a request', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = encodeGlobalID('PackageVersion', await versionId(app, 'acme'))
  const fields = ['a: nodes(ids: [$id, $id])', 'b: nodes(ids: [$id])', 'c: node(id: $id)', 'd: node(id: $id)']
  const { body } = await alice.graphql(
    `query ($id: ID!) { ${fields.map((field) => `${field} { id ... on PackageVersion { version } }`).join(' ')} }`,
    { id },
  )
  const node = { id, version: '1.0.0' }
  expect(body).toEqual({ data: { a: [node, node], b: [node], c: node, d: node }, extensions: { cost: expect.any(Number) } })
})

it('returns the other objects of a list when one cannot be read', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'acme', version: '1.0.0' })
  await admin.post('/api/publishers', { id: 'acme-corp', displayName: 'Acme', contactEmail: 'contact@acme.example' })
  const there = encodeGlobalID('PackageVersion', await versionId(app, 'acme'))
  const broken = encodeGlobalID('Publisher', 'acme-corp')
  await app.services.database.orm.em.execute('alter table publishers rename to publishers_away')
  const { body } = await admin.graphql(
    'query ($there: ID!, $broken: ID!) { a: node(id: $broken) { id } b: nodes(ids: [$there, $broken]) { id ... on PackageVersion { version } } }',
    { there, broken },
  )
  expect(body.data).toEqual({ a: null, b: [{ id: there, version: '1.0.0' }, null] })
  expect(body.errors.map(({ path }: { path: unknown }) => path)).toEqual([['a'], ['b', 1]])
})
