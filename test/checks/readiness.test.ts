import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

const ok = { status: 'ok' }
const allChecksOk = { running: ok, database: ok, schema: ok }

it('is live and ready before the setup, at the root and below the path of SERVER_URL', async () => {
  await using app = await testApp({ setUp: false, env: { SERVER_URL: 'https://example.com/registry' } })
  for (const place of ['', '/registry']) {
    expect(await app.anonymous.get(`${place}/livez`)).toMatchObject({ status: 200, body: ok })
    for (const path of ['/readyz', '/healthz'])
      expect({ path, ...(await app.anonymous.get(place + path)) }).toMatchObject({
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'private, no-store' },
        body: { status: 'ok', checks: allChecksOk },
      })
    expect(await app.anonymous.head(`${place}/readyz`)).toMatchObject({ status: 200, body: '' })
    expect(await app.anonymous.post(`${place}/readyz`)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
  }
})

const notReady = (name: string) => ({
  status: 503,
  headers: { 'retry-after': '5' },
  body: { status: 'unavailable', checks: { ...allChecksOk, [name]: { status: 'error' } } },
})

it('is not ready while the database is not writable', async () => {
  await using app = await testApp({ alone: true })
  const em = app.services.database.fork()
  await em.begin()
  await em.execute('insert into write_probe (id, count) values (1, 1) on conflict (id) do update set count = 1')
  expect(await app.anonymous.get('/readyz')).toMatchObject({ status: 503, body: { checks: { database: { status: 'error' } } } })
  expect(await app.anonymous.get('/livez')).toMatchObject({ status: 200 })
  await em.rollback()
  await expect.poll(async () => (await app.anonymous.get('/readyz')).status).toBe(200)
})

it('is not ready with the schema of another version or while stopping', async () => {
  await using newer = await testApp({ alone: true })
  const em = newer.services.database.fork()
  await em.execute("insert into schema_migrations (name) values ('Migration29991231000000_later')")
  await em.execute(`update server_settings set value = '"99.0.0"' where key = 'schema.oldest_version'`)
  expect(await newer.anonymous.get('/readyz')).toMatchObject(notReady('schema'))
  await using app = await testApp({ alone: true })
  expect(await app.anonymous.get('/readyz')).toMatchObject({ status: 200 })
  app.services.stopping.abort()
  expect(await app.anonymous.get('/readyz')).toMatchObject(notReady('running'))
  expect(await app.anonymous.get('/livez')).toMatchObject({ status: 200 })
})

it('runs one write probe for many requests', async () => {
  await using app = await testApp({ alone: true })
  const writes = () => app.queries.filter((sql) => sql.includes('insert into "write_probe"')).length
  const before = writes()
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 40 }, () => app.anonymous.get('/readyz')))
  expect(writes() - before).toBe(1)
})

it('answers unknown pages with 404: a page for browsers, an error for other clients', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://example.com/registry' } })
  const browser = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }
  for (const path of ['/nothing', '/registry.php', '/wp-login.php', '/packages/acme/nothing', '/livez/x']) {
    expect(await app.anonymous.get(`/registry${path}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    expect(await app.anonymous.head(`/registry${path}`)).toMatchObject({ status: 404, body: '' })
    const page = { status: 404, headers: { 'content-type': 'text/html; charset=utf-8', 'x-robots-tag': 'noindex' } }
    expect(await app.anonymous.get(`/registry${path}`, browser)).toMatchObject({ ...page, body: expect.stringContaining('<html') })
    expect(await app.anonymous.head(`/registry${path}`, browser)).toMatchObject(page)
  }
  for (const path of ['', '/', '/login', '/packages/unknown_yet', '/packages/unknown_yet/versions/1.0.0?tab=x', '/invite/abc'])
    for (const options of [{}, browser]) expect(await app.anonymous.get(`/registry${path}`, options)).toMatchObject({ status: 200 })
})
