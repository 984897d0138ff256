import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

it('suggests names that differ by few letters, and no other matches of a search', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'flame', version: '1.0.0', files: { 'README.md': 'Games with animations.' } })
  await publish(alice, { name: 'geolocator', version: '1.0.0' })
  const ask = async (name: string) => {
    const { body } = await alice.graphql('query ($name: String!) { similarPackageNames(name: $name) }', { name })
    return body.data.similarPackageNames as string[]
  }
  expect(await ask('animations')).toEqual([])
  for (const name of ['flmae', 'flames', 'flam', 'Flamme']) expect({ name, found: await ask(name) }).toEqual({ name, found: ['flame'] })
  for (const name of ['geolocatr', 'geo_locator']) expect({ name, found: await ask(name) }).toEqual({ name, found: ['geolocator'] })
  expect(await ask('flame')).toEqual([])
  expect(await ask('games')).toEqual([])
})

it('does not suggest names that the caller cannot see', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  const { body } = await app.anonymous.graphql('{ similarPackageNames(name: "hiden") }')
  expect(JSON.stringify(body)).not.toContain('hidden')
})
