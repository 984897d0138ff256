import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { freePort } from '../support/free-port.ts'
import { archivePath, listingPath } from '../support/mirror.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'
import { failWith, alter, redirectTo } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const [name, version] = ['colors', '1.0.0']
const path = archivePath(name, version)

/** Starts a server. Its address has this path. Returns also the headers of its owner. */
async function startAt(prefix: string, env: Record<string, string> = {}) {
  const port = String(await freePort())
  const address = `http://localhost:${port}${prefix}`
  const server = await start(folderForTest(), { LISTEN_PORT: port, SERVER_URL: address, ...env })
  if (server.process.exitCode !== null) throw new Error(`The server did not start:\n${server.log()}`)
  const reached = { ...server, url: address }
  return { server: reached, authorization: `Bearer ${await ownersToken(reached)}` }
}

type Started = Awaited<ReturnType<typeof startAt>>

async function read({ server, authorization }: Started, asked: string) {
  const response = await fetch(`${server.url}/mirror${asked}`, { headers: { authorization } })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: Buffer.from(await response.arrayBuffer()) }
}

const warnings = ({ log }: Server): string[] =>
  log()
    .split('\n')
    .filter((line) => line.includes('upstream server of the mirror'))

async function tokenFor({ server, authorization }: Started): Promise<{ id: string; secret: string }> {
  const created = await json(`${server.url}/api/auth/keys`, { name: 'mirror', scopes: ['read'] }, { authorization })
  if (created.status !== 201) throw new Error(`No token: ${created.status} ${JSON.stringify(created.body)}`)
  return created.body
}

it.each(['', '/registry'])('mirrors another Snug server at the path "%s" with a token', async (prefix) => {
  const first = await startAt(prefix)
  const archive = await packageArchive({ name, version })
  await publishTo(first.server, first.authorization, archive)
  const { secret, id } = await tokenFor(first)
  const second = await startAt(prefix, { UPSTREAM_URL: first.server.url, UPSTREAM_TOKEN: secret, UPSTREAM_TTL: '0' })
  const listing = await read(second, listingPath(name))
  expect({ ...listing, body: JSON.parse(listing.body.toString()) }).toMatchObject({
    status: 200,
    body: { latest: { archive_url: `${second.server.url}/mirror${path}` } },
  })
  const fetched = await read(second, path)
  expect(fetched.status).toBe(200)
  expect(fetched.body.equals(archive)).toBe(true)
  expect((await read(second, listingPath('unknown'))).status).toBe(404)

  const revoked = await fetch(`${first.server.url}/api/auth/keys/${id}`, {
    method: 'DELETE',
    headers: { authorization: first.authorization },
  })
  expect(revoked.status).toBe(200)
  for (const other of ['shapes', 'sounds', 'tastes']) {
    const { status, retryAfter, body } = await read(second, listingPath(other))
    expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '60' })
    expect(body.toString()).toContain(`${first.server.url} does not accept UPSTREAM_TOKEN`)
    expect(body.toString()).not.toMatch(/try again/i)
  }
  // What is in the mirror is sent as before.
  expect((await read(second, listingPath(name))).status).toBe(200)
  await expect.poll(() => warnings(second.server)).toEqual([expect.stringContaining('refuses access: status 401')])
})

it('mirrors the mirror of another Snug server', async () => {
  const upstream = await Upstream.start()
  const archive = await upstream.publish(name, version).archive()
  const first = await startAt('/registry', { UPSTREAM_URL: upstream.url })
  const { secret } = await tokenFor(first)
  const second = await startAt('', { UPSTREAM_URL: `${first.server.url}/mirror`, UPSTREAM_TOKEN: secret })
  expect((await read(second, listingPath(name))).status).toBe(200)
  expect((await read(second, path)).body.equals(archive)).toBe(true)
  expect(upstream.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true)
})

it.each([
  [{}, 'must set UPSTREAM_TOKEN to an access token of'],
  [{ UPSTREAM_TOKEN: 'svc_pat_wrong' }, 'does not accept UPSTREAM_TOKEN'],
])('names the setting to correct without a usable token: %o', async (env, words) => {
  const first = await startAt('/registry')
  const second = await startAt('', { UPSTREAM_URL: first.server.url, ...env })
  for (const asked of [listingPath(name), listingPath('other'), path]) {
    const { status, body } = await read(second, asked)
    expect({ status, text: body.toString() }).toEqual({ status: 503, text: expect.stringContaining(words) })
    expect(body.toString()).not.toMatch(/try again/i)
  }
  await expect.poll(() => warnings(second.server)).toHaveLength(1)
})

it.each(['direct', 'redirect'])('reads archives on another private address only if UPSTREAM_ARCHIVE_HOSTS names it: %s', async (way) => {
  const [upstream, archives] = [await Upstream.start(), await Upstream.start('127.0.0.2')]
  const archive = await upstream.publish(name, version).archive()
  archives.publish(name, version)
  if (way === 'redirect') upstream.fail(path, redirectTo(`${archives.url}${path}`))
  else
    upstream.fail(
      listingPath(name),
      alter((listing) => (listing.versions[0].archive_url = `${archives.url}${path}`)),
    )
  const refused = await read(await startAt('', { UPSTREAM_URL: upstream.url }), path)
  expect(refused.status).toBe(503)
  expect(refused.body.toString()).toContain('add the host to UPSTREAM_ARCHIVE_HOSTS')
  expect(archives.count()).toBe(0)
  const { host } = new URL(archives.url)
  const allowed = await startAt('', { UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN: 'secret', UPSTREAM_ARCHIVE_HOSTS: host })
  const fetched = await read(allowed, path)
  expect(fetched.status).toBe(200)
  expect(fetched.body.equals(archive)).toBe(true)
  expect(archives.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
})

it('reads an archive URL on another private address again after it has expired', async () => {
  const [upstream, archives] = [await Upstream.start(), await Upstream.start('127.0.0.2')]
  for (const one of [upstream, archives]) one.publish(name, version)
  const state = (place: string) =>
    upstream.fail(
      listingPath(name),
      alter((listing) => (listing.versions[0].archive_url = `${archives.url}${place}`)),
    )
  archives.fail('/old', failWith(403))
  state('/old')
  const started = await startAt('', { UPSTREAM_URL: upstream.url, UPSTREAM_ARCHIVE_HOSTS: new URL(archives.url).host })
  expect((await read(started, listingPath(name))).status).toBe(200)
  state(path)
  expect((await read(started, path)).status).toBe(200)
  expect(archives.requests.map(({ path: asked }) => asked)).toEqual(['/old', path])
})
