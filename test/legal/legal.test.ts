import { describe, expect, it } from 'vitest'
import { defaultMarkdown } from '../../server/operations/legal/service.ts'
import { legalKinds } from '../../server/operations/legal/entity.ts'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import { testApp, type TestApp } from '../app.ts'

const save = (kind: string, markdown: string) => ({
  query:
    'mutation ($input: UpdateLegalDocumentInput!) { updateLegalDocument(input: $input) { document { isCustom markdown html updatedAt } } }',
  variables: { input: { kind, markdown } },
})
const auditSummaries = async (app: TestApp) =>
  (await (await app.owner()).get('/api/admin/audit-log?kind=server.legal_updated')).body.entries.map(
    ({ summary }: { summary: string }) => summary,
  )

describe.each(legalKinds)('the legal page %s', (kind) => {
  it('is the built-in text until the owner sets another', async () => {
    await using app = await testApp()
    const [owner, viewer] = [await app.owner(), await app.viewer()]
    for (const actor of [app.anonymous, viewer, owner])
      expect(await actor.get(`/api/legal/${kind}`)).toMatchObject({
        status: 200,
        body: { markdown: defaultMarkdown(kind), isCustom: false },
      })
    expect(await app.anonymous.head(`/api/legal/${kind}`)).toMatchObject({ status: 200 })
    const markdown = `# Ours\n\nÄ text by ${kind}.`
    expect(await owner.put(`/api/admin/legal/${kind}`, { markdown })).toMatchObject({ status: 200, body: { markdown, isCustom: true } })
    expect(await app.anonymous.get(`/api/legal/${kind}`)).toMatchObject({ status: 200, body: { markdown, isCustom: true } })
    const other = kind === 'privacy' ? 'terms' : 'privacy'
    expect((await app.anonymous.get(`/api/legal/${other}`)).body.isCustom).toBe(false)
  })

  it.each(['an empty text', 'DELETE'])('returns to the built-in text by %s', async (way) => {
    await using app = await testApp()
    const owner = await app.owner()
    await owner.put(`/api/admin/legal/${kind}`, { markdown: 'Ours.' })
    const back =
      way === 'DELETE' ? await owner.delete(`/api/admin/legal/${kind}`) : await owner.put(`/api/admin/legal/${kind}`, { markdown: '' })
    const builtIn = { status: 200, body: { markdown: defaultMarkdown(kind), isCustom: false } }
    expect(back).toMatchObject(builtIn)
    expect(await app.anonymous.get(`/api/legal/${kind}`)).toMatchObject(builtIn)
    // Restoring again gives the same answer and no audit entry.
    expect(await owner.delete(`/api/admin/legal/${kind}`)).toMatchObject(builtIn)
    const title = kind === 'privacy' ? 'privacy policy' : 'terms of use'
    expect(await auditSummaries(app)).toEqual([`Olive Owner restored the built-in ${title}`, `Olive Owner changed the ${title}`])
  })

  it('requires the owner, with a token or with a session and its CSRF token', async () => {
    await using app = await testApp()
    const owner = await app.owner()
    const browser = await owner.session()
    const path = `/api/admin/legal/${kind}`
    for (const actor of [
      await app.admin(),
      await (await app.admin()).session(),
      await app.member(),
      await app.withScopes(owner, ['write']),
    ]) {
      const refused = { status: 403, body: { error: { code: 'InsufficientPermissions' } } }
      expect(await actor.put(path, { markdown: 'Theirs.' })).toMatchObject(refused)
      expect(await actor.delete(path)).toMatchObject(refused)
      expect((await actor.graphql(...queryOf(save(kind.toUpperCase(), 'Theirs.')))).body.errors[0].extensions.code).toBe(
        'InsufficientPermissions',
      )
    }
    expect(await app.anonymous.put(path, { markdown: 'Theirs.' })).toMatchObject({ status: 401 })
    const forged = { headers: { 'x-csrf-token': '' } }
    const mismatch = { status: 403, body: { error: { code: 'CsrfMismatch' } } }
    expect(await browser.put(path, { markdown: 'Forged.' }, forged)).toMatchObject(mismatch)
    expect(await browser.delete(path, forged)).toMatchObject(mismatch)
    expect((await app.anonymous.get(`/api/legal/${kind}`)).body.isCustom).toBe(false)
    expect(await browser.put(path, { markdown: 'Mine.' })).toMatchObject({ status: 200, body: { markdown: 'Mine.' } })
    expect(await owner.delete(path)).toMatchObject({ status: 200 })
  })
})

const queryOf = ({ query, variables }: { query: string; variables: object }) => [query, variables] as const

it('is readable but not writable before there is an owner', async () => {
  await using app = await testApp({ setUp: false })
  await announceSetupCode(app.services)
  for (const kind of legalKinds) {
    expect(await app.anonymous.get(`/api/legal/${kind}`)).toMatchObject({ status: 200, body: { isCustom: false } })
    expect(await app.anonymous.put(`/api/admin/legal/${kind}`, { markdown: 'x' })).toMatchObject({ status: 403 })
  }
  const { body } = await app.anonymous.graphql('{ legalDocument(kind: PRIVACY) { html viewerCanUpdate } }')
  expect(body.data.legalDocument).toMatchObject({ html: expect.stringContaining('<h1 id="doc-privacy-policy">'), viewerCanUpdate: false })
})

it('accepts 256 KiB of decoded UTF-8 in REST and GraphQL', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  const json = { headers: { 'content-type': 'application/json' } }
  const tooLong = { status: 400, body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^markdown: .*262144/) } } }
  const put = (markdown: string) => owner.put('/api/admin/legal/terms', { markdown })
  expect(await put('x'.repeat(262_144))).toMatchObject({ status: 200 })
  expect(await put('x'.repeat(262_145))).toMatchObject(tooLong)
  // Four bytes in UTF-8 and two UTF-16 code units each.
  expect(await put('😀'.repeat(65_536))).toMatchObject({ status: 200 })
  expect(await put(`${'😀'.repeat(65_536)}x`)).toMatchObject(tooLong)
  expect(await put(`${'😀'.repeat(65_535)}ééx`)).toMatchObject(tooLong)
  // Six bytes in the request, one in the text.
  const escaped = (count: number) => `{"markdown": "${'\\u0061'.repeat(count)}"}`
  expect(await owner.put('/api/admin/legal/terms', escaped(170_000), json)).toMatchObject({ status: 200 })
  expect(await owner.put('/api/admin/legal/terms', escaped(175_000), json)).toMatchObject({ status: 413 })
  const fits = await owner.graphql(...queryOf(save('TERMS', 'y'.repeat(262_144))))
  expect(fits.body.data.updateLegalDocument.document).toMatchObject({ isCustom: true })
  expect((await owner.graphql(...queryOf(save('TERMS', 'y'.repeat(262_145))))).body.errors[0].extensions).toMatchObject({
    code: 'InvalidInput',
    field: 'markdown',
  })
  expect((await app.anonymous.get('/api/legal/terms')).body.markdown).toBe('y'.repeat(262_144))
})

it('refuses text that databases cannot store and ignores a page in the body', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  for (const markdown of ['a\0b', 'half \ud83d'])
    expect(await owner.put('/api/admin/legal/terms', { markdown })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringContaining('markdown') } },
    })
  expect(await owner.put('/api/admin/legal/privacy', { kind: 'terms', markdown: 'Privacy.' })).toMatchObject({ status: 200 })
  expect((await app.anonymous.get('/api/legal/privacy')).body.markdown).toBe('Privacy.')
  expect((await app.anonymous.get('/api/legal/terms')).body.isCustom).toBe(false)
  for (const path of ['/api/legal/imprint', '/api/legal', '/api/admin/legal/imprint', '/api/legal/PRIVACY'])
    expect(await owner.get(path)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await owner.post('/api/legal/terms', {})).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
})

it('records no change for the same text and shows the date of the last change', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const owner = await app.owner()
  for (const text of ['One.', 'One.', 'Two.']) await owner.put('/api/admin/legal/privacy', { markdown: text })
  expect(await auditSummaries(app)).toHaveLength(2)
  const { body } = await app.anonymous.graphql('{ legalDocument(kind: PRIVACY) { kind markdown isCustom updatedAt defaultMarkdown } }')
  expect(body.data.legalDocument).toEqual({
    kind: 'PRIVACY',
    markdown: 'Two.',
    isCustom: true,
    updatedAt: '2026-01-01T00:00:00.000Z',
    defaultMarkdown: defaultMarkdown('privacy'),
  })
})

it('keeps one complete text after three concurrent changes', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  const answers = await Promise.all(['One.', 'Two.', ''].map((markdown) => owner.put('/api/admin/legal/terms', { markdown })))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  const { body } = await app.anonymous.get('/api/legal/terms')
  expect(['One.', 'Two.', defaultMarkdown('terms')]).toContain(body.markdown)
})

it('sanitizes hostile text and shows the owner a preview', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  const hostile =
    '# Hi\n\n<script>alert(1)</script><img src="https://evil.example/x.png" onerror="alert(1)">\n\n[x](javascript:alert(1)) [y](//evil.example) [z](/privacy)'
  const preview = await owner.graphql('query ($markdown: String!) { legalPreview(markdown: $markdown) }', { markdown: hostile })
  const saved = await owner.graphql(...queryOf(save('TERMS', hostile)))
  const html = saved.body.data.updateLegalDocument.document.html as string
  expect(preview.body.data.legalPreview).toBe(html)
  expect(html).not.toMatch(/<script|<img|onerror|href="javascript|href="\/\//)
  expect(html).toContain('href="http://localhost:8080/privacy"')
  expect((await (await app.admin()).graphql('{ legalPreview(markdown: "x") }')).body.errors[0].extensions.code).toBe(
    'InsufficientPermissions',
  )
})

it('lists all stored personal data in the built-in privacy policy', async () => {
  await using app = await testApp()
  const said: Record<string, string> = {
    AccessToken: 'Access tokens',
    AuthorizationRequest: 'Requests for a token',
    Avatar: 'a picture if you upload one',
    ConfusableName: 'requested a name',
    DeletedPackage: 'Deleted packages',
    DeviceRequest: 'a device without a browser',
    Invite: 'Invitations',
    LinkedIdentity: 'Linked identities',
    MirrorDecision: 'Refused packages of the mirror',
    PackageLike: 'Likes',
    PackageUploader: 'the uploaders',
    PackageVersion: 'by whom and when',
    PackageWatch: 'Watched packages',
    Passkey: 'Passkeys',
    PublisherClaim: 'claims a domain',
    PublisherMember: 'publisher members',
    RecoveryCode: 'hashes of the recovery codes',
    ReservedName: 'deleted the package of a reserved name',
    SavedApp: 'Saved apps',
    Session: 'Sessions',
    SignInOrigin: 'Devices and address ranges',
    Totp: 'Authenticator app',
    TrustedPublisher: 'Trusted publishers',
    Upload: 'uploads an archive',
  }
  const entities = [...app.services.database.fork().getMetadata().getAll().values()]
  const personal = entities.filter(({ relations }) => relations.some(({ type }) => type === 'User')).map(({ className }) => className)
  expect(personal.toSorted()).toEqual(Object.keys(said))
  const text = defaultMarkdown('privacy')
  for (const words of Object.values(said)) expect(text).toContain(words)
  expect(text).not.toContain('Administrators of the server also see e-mail addresses')
})
