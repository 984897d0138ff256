import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import type { Actor, Answer } from '../actor.ts'
import { PubClient } from '../support/pub-client.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const serverUrl = 'http://localhost:8080'
const message = `This registry is at ${serverUrl}. Use that address.`
const pathsOf = (name: string) => [
  `/api/archives/${name}-1.0.0.tar.gz`,
  `/packages/${name}/versions/1.0.0.tar.gz`,
  `/api/packages/${name}/versions/1.0.0/archive.tar.gz`,
]
const notFoundHere = ['/api/archives/absent-1.0.0.tar.gz', '/api/archives/acme-9.9.9.tar.gz', '/api/archives/nonsense']
const agents = ['Dart pub 3.9.0', 'Dart pub 3.10.0-162.0.dev', 'Dart pub 2.19.6', 'Dart pub 0.1.2+3', 'dart pub 3.9.0']

async function appWithAcme(start: () => Promise<TestApp> = testApp) {
  const app = await start()
  const member = await app.member()
  await publish(member, { name: 'acme', version: '1.0.0' })
  return { app, member }
}

const answersOf = (actor: Actor, paths: readonly string[], headers: Record<string, string>): Promise<(Answer & { path: string })[]> =>
  Promise.all(paths.map(async (path) => ({ path, ...(await actor.get(path, { headers })) })))

it('leaves the token of a package client that calls the server by another address', async () => {
  const { app, member } = await appWithAcme()
  await using _app = app
  const address = await app.listen()
  for (const hostedUrl of ['http://127.0.0.1:8080', 'http://registry.example']) {
    const client = new PubClient({ hostedUrl, serverUrl, address, token: member.secret ?? '' })
    expect((await client.listing('acme')).versions).toHaveLength(1)
    await expect(client.download('acme', '1.0.0')).rejects.toMatchObject({ status: 403, message })
    expect(client.hasToken, hostedUrl).toBe(true)
  }
  const right = new PubClient({ hostedUrl: serverUrl, address, token: member.secret ?? '' })
  expect((await right.download('acme', '1.0.0')).length).toBeGreaterThan(0)
})

it('answers package clients without a token with 403 for archives, and everyone else with 401', async () => {
  for (const start of [testApp, publicApp]) {
    const { app } = await appWithAcme(start)
    await using _app = app
    const paths = [...pathsOf('acme'), ...pathsOf('absent'), ...notFoundHere]
    const bodies = new Set<string>()
    for (const agent of agents)
      for (const range of [undefined, 'bytes=0-9'])
        for (const { path, status, headers, body } of await answersOf(app.anonymous, paths, {
          'user-agent': agent,
          ...(range && { range }),
        })) {
          expect(status, `${agent} ${path}`).toBe(403)
          expect(headers['www-authenticate'], path).toBe(`Bearer realm="pub", message="${message}"`)
          bodies.add(JSON.stringify(typeof body === 'string' ? JSON.parse(body) : body))
        }
    expect([...bodies]).toEqual([JSON.stringify({ error: { code: 'InsufficientPermissions', message } })])
    expect((await app.anonymous.head(pathsOf('acme')[0] ?? '', { headers: { 'user-agent': 'Dart pub 3.9.0' } })).status).toBe(403)
    const others = ['curl/8.5.0', 'Mozilla/5.0 Dart pub 3.9.0', 'Dart/3.9 (dart:io)', 'Renovate/41', 'Dart pub', '']
    for (const agent of others)
      for (const { path, status } of await answersOf(app.anonymous, paths, { 'user-agent': agent }))
        expect(status, `${agent} ${path}`).toBe(401)
  }
})

it('answers package clients with 401 elsewhere, and for a token that is not valid', async () => {
  const { app, member } = await appWithAcme()
  await using _app = app
  const headers = { 'user-agent': 'Dart pub 3.9.0' }
  const elsewhere = ['/api/packages/acme', '/api/packages/absent', '/api/packages/acme/versions/1.0.0', '/api/packages/versions/new']
  for (const { path, status } of await answersOf(app.anonymous, elsewhere, headers)) expect(status, path).toBe(401)
  for (const authorization of ['Bearer svc_pat_wrong', 'Bearer', 'Basic Og==', ''])
    for (const { path, status } of await answersOf(app.anonymous, pathsOf('acme'), { ...headers, authorization }))
      expect(status, `${authorization} ${path}`).toBe(401)
  const { secret, id } = (await member.post('/api/auth/keys', { name: 'old' })).body
  expect((await member.delete(`/api/auth/keys/${id}`)).status).toBe(200)
  for (const { path, status } of await answersOf(app.withToken(secret), pathsOf('acme'), headers)) expect(status, path).toBe(401)
})

it('gives package clients without a token the archives of public packages', async () => {
  const { app } = await appWithAcme(publicApp)
  await using _app = app
  await makePublic(app, 'acme')
  const headers = { 'user-agent': 'Dart pub 3.9.0' }
  const [archive, ...former] = await answersOf(app.anonymous, pathsOf('acme'), headers)
  expect(archive?.status).toBe(200)
  for (const { path, status } of former) expect(status, path).toBe(303)
})
