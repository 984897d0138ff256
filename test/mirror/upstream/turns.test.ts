import { expect, it } from 'vitest'
import type { TestApp } from '../../app.ts'
import { archivePath, changePolicies, listingPath, mirrorOf } from '../../support/mirror.ts'
import { Upstream } from '../../support/upstream.ts'

const names = Array.from({ length: 40 }, (_, at) => `slow_${at}`)

async function slowUpstream(pathOf: (name: string) => string) {
  const upstream = await Upstream.start()
  for (const name of [...names, 'colors']) upstream.publish(name, '1.0.0')
  const holds = names.map((name) => upstream.hold(pathOf(name)))
  return { upstream, release: () => holds.forEach(({ release }) => release()) }
}

/** Requests all slow names and waits until as many requests have arrived upstream as one caller may have. */
async function occupy(upstream: Upstream, get: (path: string) => Promise<{ status: number }>, pathOf: (name: string) => string) {
  const answers = names.map((name) => get(`/mirror${pathOf(name)}`))
  await expect.poll(() => names.filter((name) => upstream.count(pathOf(name)) > 0).length).toBe(16)
  return answers
}

const archiveOf = (name: string) => archivePath(name, '1.0.0')

it.each([
  ['listings', listingPath],
  ['archives', archiveOf],
])('fetches %s for others while one caller waits for slow ones', async (_what, pathOf) => {
  const { upstream, release } = await slowUpstream(pathOf)
  await using app = await mirrorOf(upstream, { alone: true })
  const [busy, other] = [await app.member(), await app.member()]
  const answers = await occupy(upstream, (path) => busy.get(path), pathOf)
  expect((await other.get(`/mirror${pathOf('colors')}`)).status).toBe(200)
  release()
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
})

it('fetches a listing in the turn of another caller that asks for it', async () => {
  const { upstream, release } = await slowUpstream(listingPath)
  await using app = await mirrorOf(upstream, { alone: true })
  const [busy, other] = [await app.member(), await app.member()]
  const answers = await occupy(upstream, (path) => busy.get(path), listingPath)
  // The caller waits for a turn for this one.
  answers.push(busy.get(`/mirror${listingPath('colors')}`))
  expect((await other.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  expect(upstream.count(listingPath('colors'))).toBe(1)
  release()
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
})

const open = { alone: true, env: { UPSTREAM_ACCESS: 'open' } }
const fromAddress = (app: TestApp, address: string) => (path: string) => app.anonymous.get(path, { ip: address })

it('fetches for users while strangers wait for slow listings', async () => {
  const { upstream, release } = await slowUpstream(listingPath)
  await using app = await mirrorOf(upstream, open)
  const answers = names.map((name, at) => fromAddress(app, `198.51.100.${at + 1}`)(`/mirror${listingPath(name)}`))
  await expect.poll(() => names.filter((name) => upstream.count(listingPath(name)) > 0).length).toBe(16)
  expect((await (await app.member()).get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  release()
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
})

it('reads what policies need in the turn of the caller', async () => {
  const pathOf = (name: string) => `${listingPath(name)}/score`
  const { upstream, release } = await slowUpstream(pathOf)
  await using app = await mirrorOf(upstream, { alone: true })
  await changePolicies(app, { licenses: { mode: 'enforce', deny: ['gpl-3.0'] } })
  const [busy, other] = [await app.member(), await app.member()]
  const answers = names.map((name) => busy.get(`/mirror${listingPath(name)}`))
  await expect.poll(() => names.filter((name) => upstream.count(pathOf(name)) > 0).length).toBe(16)
  expect((await other.get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  release()
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
})
