import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { publish } from '../support/publish.ts'

const query = '{ packages(first: 5) { nodes { name } } }'
const form = /^db;dur=\d+\.\d;desc="statements: (\d+)", total;dur=\d+\.\d$/

it('sends Server-Timing only to administrators, because the number of statements could reveal hidden data', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const admin = await app.admin()
  await publish(alice, { name: 'acme', version: '1.0.0' })

  const { result: response, statements } = await attributeStatements(() => admin.graphql(query))
  const authentication = 1
  expect(form.exec(response.headers['server-timing'] as string)?.[1]).toBe(String(statements.length - authentication))
  expect((await admin.graphql('{ nothing }')).headers['server-timing']).toMatch(form)

  for (const other of [alice, app.anonymous, await app.withScopes(admin, ['read'])])
    expect((await other.graphql(query)).headers['server-timing']).toBeUndefined()
})
