import { encodeGlobalID } from '@pothos/plugin-relay'
import { expect, it } from 'vitest'
import { testApp } from './app.ts'
import { publish } from './support/publish.ts'
import { versionId } from './support/reports.ts'

it('gives the same object to each field of a request that asks for it by its id', async () => {
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
  expect(body).toEqual({ data: { a: [node, node], b: [node], c: node, d: node } })
})
