import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { heldMemory } from '../support/memory.ts'

const comments = '#\n'.repeat(30_000)
const fields = 'id '.repeat(3900)

it('limits the memory of cached documents, whatever their parsed size', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const { graphql } = app.services.caches
  const before = heldMemory()
  for (let index = 0; index < 20; index++) expect((await alice.graphql(`{ a${index}: __typename }${comments}`)).status).toBe(200)
  expect(heldMemory().heap - before.heap).toBeLessThan(2 * graphql.maxSize)
  expect(graphql.calculatedSize).toBeLessThanOrEqual(graphql.maxSize)
})

it('does not cache refused documents', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  for (const document of ['{ nonsense }', '{ a', `{ me { ${fields} } `, `{ ${'a { '.repeat(30)}`])
    expect((await alice.graphql(document)).body.errors).not.toEqual([])
  expect(app.services.caches.graphql.size).toBe(0)
})

it('parses a document once while it is cached', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const { graphql } = app.services.caches
  const ask = async () => {
    expect((await alice.graphql('{ me { email } }')).body.data.me.email).toBe(alice.user?.email)
    return [...graphql.values()]
  }
  const [parsed, ...others] = await ask()
  expect(others).toEqual([])
  await ask()
  expect((await ask())[0]).toBe(parsed)
})
