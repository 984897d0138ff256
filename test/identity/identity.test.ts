import sharp from 'sharp'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { form, plain } from '../support/pictures.ts'

const fields = '{ name description logoUrl }'
const read = async (actor: Actor) => (await actor.graphql(`{ server ${fields} }`)).body.data.server
const update = (actor: Actor, input: object) =>
  actor.graphql(`mutation ($input: UpdateRegistryInput!) { updateRegistry(input: $input) { server ${fields} } }`, { input })
async function upload(actor: Actor, bytes: Buffer | string) {
  const { body, options } = await form(bytes)
  return actor.post('/api/admin/logo', body, { headers: { ...options.headers } })
}
const builtIn = { name: 'Snug', description: '', logoUrl: null }

it('has a name and a description that administrators change, with an audit entry for each change', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  expect(await read(app.anonymous)).toEqual(builtIn)
  const texts = { name: 'Acme <b>Packages</b>', description: 'What Acme shares.' }
  const { body } = await update(admin, { name: `  ${texts.name} `, description: texts.description })
  expect(body.data.updateRegistry.server).toEqual({ ...builtIn, ...texts })
  expect(await read(app.anonymous)).toEqual({ ...builtIn, ...texts })
  await update(admin, texts)
  await update(admin, { description: '' })
  await update(admin, { name: '' })
  expect(await read(app.anonymous)).toEqual(builtIn)
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.settings_updated')).body
  expect(entries.map(({ summary }: { summary: string }) => summary)).toEqual([
    `${admin.user.displayName} changed the registry's name to “Snug”`,
    `${admin.user.displayName} changed the registry's description`,
    `${admin.user.displayName} changed the registry's name to “${texts.name}”, description`,
  ])
})

it.each([
  ['a name that is too long', { name: 'a'.repeat(41) }, 'name'],
  ['a description that is too long', { description: 'a'.repeat(201) }, 'description'],
  ['control characters', { name: 'a\u202eb' }, 'name'],
  ['line breaks', { description: 'a\nb' }, 'description'],
  ['an invisible name', { name: '\u2800' }, 'name'],
])('rejects %s', async (_what, input, field) => {
  await using app = await testApp()
  const { body } = await update(await app.admin(), input)
  expect(body.errors[0].extensions).toMatchObject({ code: 'InvalidInput', field })
  expect(await read(app.anonymous)).toEqual(builtIn)
})

it('has a logo that administrators upload and remove, cached under its versioned URL', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  expect(await app.anonymous.get('/api/logo')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  const wide = await plain({ width: 600, height: 300 }).png().toBuffer()
  const { status, body } = await upload(admin, wide)
  expect(status).toBe(200)
  expect(body.logoUrl).toMatch(/^\/api\/logo\?v=[0-9a-f]{16}$/)
  expect(await read(app.anonymous)).toEqual({ ...builtIn, logoUrl: body.logoUrl })
  const shown = await app.anonymous.get(body.logoUrl)
  expect(shown).toMatchObject({
    status: 200,
    headers: { 'content-type': 'image/png', 'cache-control': 'public, immutable, max-age=31536000' },
  })
  expect(await sharp(shown.raw).metadata()).toMatchObject({ format: 'png', width: 512, height: 512, hasAlpha: true })
  const { data } = await sharp(shown.raw).raw().toBuffer({ resolveWithObject: true })
  expect([...data.subarray(0, 4)]).toEqual([0, 0, 0, 0]) // the corner is transparent
  expect((await app.anonymous.get('/api/logo')).headers['cache-control']).toBe('public, no-cache')
  const again = await app.anonymous.get('/api/logo', { headers: { 'if-none-match': String(shown.headers.etag) } })
  expect(again.status).toBe(304)

  await admin.graphql('mutation { removeRegistryLogo { server { name } } }')
  expect(await read(app.anonymous)).toEqual(builtIn)
  expect((await app.anonymous.get(body.logoUrl)).status).toBe(404)
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.settings_updated')).body
  expect(entries).toHaveLength(2)
})

it('refuses other files, other users, and sessions without the CSRF token', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const png = await plain({ width: 16, height: 16 }).png().toBuffer()
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
  expect(await upload(admin, svg)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  expect(await upload(await app.member(), png)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  expect((await upload(app.anonymous, png)).status).toBe(401)
  expect((await update(await app.member(), { name: 'Mine' })).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  const { body, options } = await form(png)
  const browser = await admin.session()
  const forged = { headers: { ...options.headers, 'x-csrf-token': 'forged' } }
  expect(await browser.post('/api/admin/logo', body, forged)).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
  expect(await read(app.anonymous)).toEqual(builtIn)
})
