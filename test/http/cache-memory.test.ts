import { randomBytes } from 'node:crypto'
import { serialize } from 'node:v8'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { documentVersion } from '../support/docs.ts'
import { heldMemory } from '../support/memory.ts'
import { publish, upload } from '../support/publish.ts'
import { storeSurface, surfaceOf } from '../support/surfaces.ts'
import { Upstream } from '../support/upstream.ts'

const zipped = { headers: { 'accept-encoding': 'gzip' } }

it('caches compressed listings without their larger original buffers', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const names = Array.from({ length: 20 }, (_, index) => `acme_${index}`)
  for (const name of names) await publish(alice, { name, version: '1.0.0' })
  const before = heldMemory()
  for (const name of names) expect((await alice.get(`/api/packages/${name}`, zipped)).raw.length).toBeLessThan(1024)
  expect((heldMemory().buffers - before.buffers) / names.length).toBeLessThan(8 * 1024)
})

it('accounts for at least the memory of the values in every cache', async () => {
  const upstream = await Upstream.start()
  upstream.publish('http_kit', '1.0.0')
  await using app = await testApp({ alone: true, env: { UPSTREAM_URL: upstream.url } })
  await fillCaches(app, await app.member())
  const sizes = Object.entries(entriesOf(app)).map(([name, entries]) => [name, entries.length])
  expect(sizes.filter(([, size]) => size === 0)).toEqual([])
  for (const [name, entries] of Object.entries(entriesOf(app)))
    for (const { value, size = 0 } of entries) {
      const buffers = buffersIn(value)
      expect(buffers.map(({ buffer }) => buffer.byteLength, name)).toEqual(buffers.map(({ byteLength }) => byteLength))
      expect(size, name).toBeGreaterThan(contentBytes(value))
    }
})

it('stays within CACHE_BYTES', async () => {
  await using app = await testApp({ alone: true, env: { CACHE_BYTES: String(2 ** 20) } })
  const alice = await app.member()
  const { caches } = app.services
  expect(Object.values(caches).reduce((total, { maxSize }) => total + maxSize, 0)).toBeLessThan(2 ** 20)
  for (const version of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) {
    await publish(alice, { name: 'acme', version, files: { 'noise.bin': randomBytes(60_000) } })
    expect((await alice.get(`/api/archives/acme-${version}.tar.gz`)).raw.length).toBeGreaterThan(60_000)
    expect(caches.archives.calculatedSize).toBeLessThanOrEqual(caches.archives.maxSize)
  }
  expect(caches.archives.size).toBe(2)
})

const logo = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>'

/** Reads one value into each cache. */
async function fillCaches(app: TestApp, alice: Actor): Promise<void> {
  for (const version of ['1.0.0', '1.1.0']) {
    await publish(alice, { name: 'acme', version, files: { 'logo.svg': logo } })
    await storeSurface(app, version, surfaceOf({ [`of${version.length}`]: 'void of()' }))
  }
  await documentVersion(app, 'acme', '1.1.0')
  await upload(alice, await packageArchive({ name: 'acme', version: '1.2.0' }))
  const paths = [
    '/api/packages/acme',
    '/api/archives/acme-1.0.0.tar.gz',
    '/documentation/acme/latest/index.json',
    '/raw/acme/1.0.0/logo.svg',
    '/mirror/api/packages/http_kit',
  ]
  for (const path of paths) expect((await alice.get(path, zipped)).status).toBe(200)
  const query =
    '{ package(name: "acme") { latest { readme { html } apiChanges { addedCount } comparison { files { totalCount } } score { report { notes } } } } }'
  expect((await alice.graphql(query)).body.errors).toBeUndefined()
}

type Entry = { value: object | string; size?: number }

/** Returns the entries of each cache with their accounted size. */
const entriesOf = ({ services: { caches } }: TestApp): Record<string, Entry[]> =>
  Object.fromEntries(Object.entries(caches).map(([name, cache]) => [name, cache.dump().map(([, entry]) => entry as Entry)]))

/** Returns the length of the serialized value. Parsed documents cannot be serialized by V8 and are serialized as JSON. */
const contentBytes = (value: object | string): number =>
  typeof value === 'object' && 'definitions' in value ? JSON.stringify(value).length : serialize(value).byteLength

/** Returns the buffers in a value: the value itself or its direct members. */
const buffersIn = (value: object | string): Buffer[] => [value, ...Object.values(value)].filter((part) => Buffer.isBuffer(part))
