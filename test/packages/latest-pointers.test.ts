import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { latestOf, latestPrereleaseOf } from '../../server/registry/packages/versions/latest.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const setRetracted = (actor: Actor, version: string, isRetracted: boolean) =>
  actor.put(`/api/packages/acme/versions/${version}/options`, { isRetracted })

async function latestVersions(actor: Actor) {
  const { body } = await actor.graphql('{ package(name: "acme") { description latest { version } latestPrerelease { version } } }')
  const { description, latest, latestPrerelease } = body.data.package
  return { description, latest: latest?.version ?? null, latestPrerelease: latestPrerelease?.version ?? null }
}

describe('the latest versions after a retraction or restoration', () => {
  it("are the highest that are not retracted, with that version's description and search entry", async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0', files: { 'README.md': 'about walruses' } })
    await publish(alice, {
      name: 'acme',
      version: '2.0.0',
      manifest: 'name: acme\nversion: 2.0.0\ndescription: Now for penguins.\ntopics: [antarctica]\nenvironment:\n  sdk: ^3.0.0\n',
      files: { 'README.md': 'about albatrosses' },
    })
    const finds = async (query: string) => (await alice.get(`/api/search?q=${query}`)).body.totalCount
    const older = [await finds('walruses'), await finds('test')]
    expect({ older, newer: [await finds('albatrosses'), await finds('penguins'), await finds('antarctica')] }).toEqual({
      older: [0, 0],
      newer: [1, 1, 1],
    })
    await setRetracted(alice, '2.0.0', true)
    expect(await latestVersions(alice)).toMatchObject({
      latest: '1.0.0',
      description: 'The package acme, made for a test of the registry.',
    })
    expect([await finds('walruses'), await finds('test')]).toEqual([1, 1])
    expect([await finds('albatrosses'), await finds('penguins'), await finds('antarctica')]).toEqual([0, 0, 0])
    await setRetracted(alice, '2.0.0', false)
    expect(await latestVersions(alice)).toMatchObject({ latest: '2.0.0', description: 'Now for penguins.' })
    expect([await finds('walruses'), await finds('penguins')]).toEqual([0, 1])
  })

  it('are null when all versions are retracted', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const version of ['1.0.0', '1.1.0', '2.0.0-dev']) await publish(alice, { name: 'acme', version })
    for (const version of ['1.1.0', '2.0.0-dev', '1.0.0']) await setRetracted(alice, version, true)
    expect(await latestVersions(alice)).toMatchObject({ latest: null, latestPrerelease: null })
    const shown = await alice.graphql('{ package(name: "acme") { displayedVersion { version isRetracted } } }')
    expect(shown.body.data.package.displayedVersion).toEqual({ version: '1.1.0', isRetracted: true })
    const { body } = await alice.get('/api/packages/acme')
    expect(body).not.toHaveProperty('latest')
    expect(body.versions).toHaveLength(3)
    expect((await alice.get('/api/packages/acme/score')).status).toBe(200)
    expect((await alice.get('/packages/acme/badges/version.svg')).raw.toString()).toContain('acme: retracted')
    await setRetracted(alice, '2.0.0-dev', false)
    expect(await latestVersions(alice)).toMatchObject({ latest: '2.0.0-dev', latestPrerelease: '2.0.0-dev' })
  })

  it('match a full recomputation after any sequence of retractions', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const versions = ['0.9.0', '1.0.0-dev.1', '1.0.0', '1.0.0+1', '1.1.0-beta', '1.10.0', '2.0.0-a', '2.0.0-b']
    for (const version of versions) await publish(alice, { name: 'acme', version })
    const retracted = new Set<string>()
    const step = fc.constantFrom(...versions)
    for (const version of fc.sample(step, { numRuns: 60, seed: 7 })) {
      const isRetracted = !retracted.has(version)
      expect(await setRetracted(alice, version, isRetracted)).toMatchObject({ status: 200 })
      if (isRetracted) retracted.add(version)
      else retracted.delete(version)
      if (retracted.size % 3 === 0) {
        // A version published in between updates the pointers incrementally.
        const fresh = `0.${versions.length}.0${retracted.size % 2 ? '' : '-dev'}`
        await publish(alice, { name: 'acme', version: fresh })
        versions.push(fresh)
      }
      const all = versions.map((one) => ({ version: one, retracted: retracted.has(one) }))
      expect({ retracted: [...retracted], ...(await latestVersions(alice)) }).toMatchObject({
        latest: latestOf(all)?.version,
        latestPrerelease: latestPrereleaseOf(all)?.version ?? null,
      })
    }
  })

  it('cost the same with 2 and with 40 versions', async () => {
    await using app = await testApp()
    const alice = await app.member()
    const counts: number[] = []
    let made = 0
    for (const versions of [2, 40]) {
      while (made < versions) await publish(alice, { name: 'acme', version: `1.${made++}.0` })
      counts.push(await app.countQueries(() => setRetracted(alice, `1.${made - 1}.0`, true)))
      await setRetracted(alice, `1.${made - 1}.0`, false)
    }
    expect(counts[1]).toBe(counts[0])
  })
})
