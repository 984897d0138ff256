import { encodeGlobalID } from '@pothos/plugin-relay'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, finish, publish, sendBytes } from '../support/publish.ts'

const upper = (id: string) => id.toUpperCase()

it('accepts ids in upper case wherever ids are accepted', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  expect(await admin.get(`/api/admin/users/${upper(alice.id)}`)).toMatchObject({ status: 200, body: { userId: alice.id } })
  expect(await admin.put(`/api/admin/users/${upper(alice.id)}`, { displayName: 'Ann' })).toMatchObject({ status: 200 })
  expect(await admin.put(`/api/admin/users/${upper(admin.id)}`, { role: 'viewer' })).toMatchObject({ status: 403 })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const entries = await alice.get('/api/packages/acme/activity-log')
  expect(entries.body.entries).toHaveLength(2)
  const older = await alice.get(`/api/packages/acme/activity-log?before=${upper(entries.body.entries[0].id)}`)
  expect(older.body.entries).toEqual(entries.body.entries.slice(1))
  const byActor = await admin.get(`/api/admin/audit-log?actor=${upper(alice.id)}`)
  expect(byActor.body.entries).toHaveLength(2)
  const uploadId = upper(await announce(alice))
  expect(await sendBytes(alice, uploadId, await packageArchive({ name: 'acme', version: '1.0.1' }))).toMatchObject({ status: 302 })
  expect(await finish(alice, uploadId)).toMatchObject({ status: 200 })
  const made = await alice.post('/api/auth/keys', { name: 'ci' })
  expect(await alice.delete(`/api/auth/keys/${upper(made.body.id)}`)).toMatchObject({ status: 200 })
  expect(await app.withToken(made.body.secret).get('/api/auth/me')).toMatchObject({ status: 401 })
  const browser = await alice.session()
  const [session] = (await browser.get('/api/auth/sessions')).body.sessions
  expect(await browser.delete(`/api/auth/sessions/${upper(session.id)}`)).toMatchObject({ status: 200 })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('accepts ids in upper case in GraphQL and returns them in lower case', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const { body } = await admin.graphql('query ($uuid: ID!, $id: ID!) { user(uuid: $uuid) { id } node(id: $id) { id } }', {
    uuid: upper(alice.id),
    id: encodeGlobalID('User', upper(alice.id)),
  })
  const id = encodeGlobalID('User', alice.id)
  expect(body).toEqual(expect.objectContaining({ data: { user: { id }, node: { id } } }))
})
