import sharp from 'sharp'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { dependent, makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { form, plain } from '../support/pictures.ts'
import { publish } from '../support/publish.ts'

/** Returns the part of a page that describes it: everything in the head before the scripts, without the answers of queries. */
async function headOf(actor: Actor, path: string): Promise<string> {
  const { raw } = await actor.get(path, { headers: { accept: 'text/html' } })
  const head = raw.toString().split('</head>')[0] ?? ''
  expect(head.match(/<title>/g)).toHaveLength(1)
  expect(head.match(/<meta name="description"/g)).toHaveLength(1)
  return head
}
const content = (head: string, name: string) => new RegExp(`<meta (?:property|name)="${name}" content="([^"]*)"`).exec(head)?.[1]
const titleOf = (head: string) => /<title>(.*?)<\/title>/.exec(head)?.[1]

const hostile = 'Breaks </title><script>alert(1)</script> & "quotes" \'so\' <img src=x onerror=alert(1)>.'
const manifest = (description: string) =>
  `name: kit\nversion: 1.0.0\ndescription: ${JSON.stringify(description)}\nenvironment:\n  sdk: ^3.0.0\n`

it('describes public packages for link previews and search engines, with escaped texts', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'kit', version: '1.0.0', manifest: manifest(hostile) })
  await makePublic(app, 'kit')
  const head = await headOf(app.anonymous, '/packages/kit')
  expect(titleOf(head)).toBe('kit · Snug')
  const escaped =
    'Breaks &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot; &#39;so&#39; &lt;img src=x onerror=alert(1)&gt;.'
  for (const name of ['description', 'og:description']) expect(content(head, name)).toBe(escaped)
  expect(head).not.toMatch(/<script>|<img/)
  expect(head).toContain(`<link rel="canonical" href="${app.config.SERVER_URL}/packages/kit">`)
  expect(content(head, 'og:title')).toBe('kit')
  expect(content(head, 'og:site_name')).toBe('Snug')
  expect(content(head, 'og:image')).toBe(`${app.config.SERVER_URL}/packages/kit/preview.png`)
  expect(titleOf(await headOf(app.anonymous, '/packages/kit/versions/1.0.0/changelog'))).toBe('kit 1.0.0 · Snug')
  expect(titleOf(await headOf(app.anonymous, '/packages'))).toBe('Packages · Snug')
})

it('reveals nothing about private packages, hidden versions, or while public browsing is off', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'kit', version: '1.0.0', manifest: manifest('Confidential.') })
  const browser = await alice.session()
  const generic = await headOf(app.anonymous, '/packages/missing')
  for (const actor of [app.anonymous, browser])
    expect((await headOf(actor, '/packages/kit')).replaceAll(/<link [^>]*assets[^>]*>/g, '')).not.toMatch(
      /Confidential|canonical|og:|<title>kit/,
    )
  expect(titleOf(generic)).toBe('Snug')
  await makePublic(app, 'kit')
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, dependent('kit', '2.0.0', ['secret']))
  expect(titleOf(await headOf(app.anonymous, '/packages/kit/versions/2.0.0'))).toBe('Snug')
  expect(titleOf(await headOf(app.anonymous, '/packages/kit/versions/1.0.0'))).toBe('kit 1.0.0 · Snug')
  await setSwitch(app, false)
  expect(await headOf(app.anonymous, '/packages/kit')).not.toMatch(/Confidential|canonical|og:/)
})

it('names the registry, with escaped texts and its logo', async () => {
  await using app = await publicApp()
  const admin = await app.admin()
  const input = { name: 'A</title><script>x()</script>', description: '"><script>y()</script>' }
  await admin.graphql('mutation ($input: UpdateRegistryInput!) { updateRegistry(input: $input) { server { name } } }', { input })
  const head = await headOf(app.anonymous, '/login')
  expect(titleOf(head)).toBe('A&lt;/title&gt;&lt;script&gt;x()&lt;/script&gt;')
  expect(content(head, 'description')).toBe('&quot;&gt;&lt;script&gt;y()&lt;/script&gt;')
  expect(head).not.toContain('<script>')
  const search = (await app.anonymous.get('/opensearch.xml')).raw.toString()
  expect(search).toContain('<ShortName>A&lt;/title&gt;&lt;script</ShortName>')
  expect(search).toContain(`template="${app.config.SERVER_URL}/packages?q={searchTerms}"`)
  const { body, options } = await form(await plain({ width: 16, height: 16 }).png().toBuffer())
  const { logoUrl } = (await admin.post('/api/admin/logo', body, { headers: { ...options.headers } })).body
  expect(await headOf(app.anonymous, '/login')).toContain(`<link rel="icon" type="image/png" href=".${logoUrl}">`)
  expect((await app.anonymous.get('/manifest.webmanifest')).body).toMatchObject({ name: input.name, icons: [{ src: logoUrl }] })
})

it('serves icons', async () => {
  await using app = await testApp()
  for (const [name, edge] of [
    ['icon-192', 192],
    ['icon-512', 512],
    ['apple-touch-icon', 180],
  ] as const) {
    const { status, headers, raw } = await app.anonymous.get(`/${name}.png`)
    expect([status, headers['content-type']]).toEqual([200, 'image/png'])
    expect(await sharp(raw).metadata()).toMatchObject({ width: edge, height: edge })
  }
})

it('has a sitemap of public packages only, and only while public browsing is on', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['kit_one', 'kit_two', 'hidden', 'unlisted']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'kit_one', 'kit_two', 'unlisted')
  await alice.put('/api/packages/unlisted/options', { isUnlisted: true })
  const url = app.config.SERVER_URL
  const text = async (actor: Actor, path: string) => (await actor.get(path)).raw.toString()
  expect(await text(app.anonymous, '/robots.txt')).toContain(`Sitemap: ${url}/sitemap.xml`)
  expect(await text(app.anonymous, '/sitemap.xml')).toContain(`<loc>${url}/sitemap.xml?page=1</loc>`)
  for (const actor of [app.anonymous, alice]) {
    const listed = [...(await text(actor, '/sitemap.xml?page=1')).matchAll(/<loc>(.*?)<\/loc><lastmod>\d{4}-/g)].map(([, loc]) => loc)
    expect(listed).toEqual([`${url}/packages/kit_one`, `${url}/packages/kit_two`])
  }
  for (const page of ['0', '-1', 'x', '1&page=2', '999999']) expect((await app.anonymous.get(`/sitemap.xml?page=${page}`)).status).toBe(404)
  await setSwitch(app, false)
  expect((await app.anonymous.get('/sitemap.xml')).status).toBe(404)
  expect(await text(app.anonymous, '/robots.txt')).not.toContain('Sitemap')
})

it('draws a preview image of public packages only, whatever characters their texts contain', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  const description = `${hostile} Größe 你好 ${'w'.repeat(120)}`
  await publish(alice, {
    name: `kit_${'w'.repeat(60)}`,
    version: '1.0.0',
    manifest: manifest(description).replace('kit', `kit_${'w'.repeat(60)}`),
  })
  await publish(alice, { name: 'hidden', version: '1.0.0' })
  await makePublic(app, `kit_${'w'.repeat(60)}`)
  const path = `/packages/kit_${'w'.repeat(60)}/preview.png`
  const first = await app.anonymous.get(path)
  expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'image/png' } })
  expect(await sharp(first.raw).metadata()).toMatchObject({ format: 'png', width: 1200, height: 630 })
  expect((await sharp(first.raw).stats()).channels[0]?.stdev).toBeGreaterThan(10) // it shows text
  expect((await app.anonymous.get(path, { headers: { 'if-none-match': String(first.headers.etag) } })).status).toBe(304)
  expect((await app.anonymous.get('/packages/hidden/preview.png')).status).toBe(401) // as for a package that does not exist
  expect((await alice.get('/packages/hidden/preview.png')).status).toBe(404)
  await setSwitch(app, false)
  expect((await app.anonymous.get(path)).status).toBe(401)
})
