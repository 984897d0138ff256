import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { readSvg } from '../support/pictures.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { renderBadge } from '../../server/analysis/badges/service.ts'

it('shows the latest version and changes with it', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const answer = await alice.get('/packages/acme/badges/version.svg')
  expect(answer).toMatchObject({
    status: 200,
    headers: {
      'content-type': 'image/svg+xml; charset=utf-8',
      'cache-control': 'private, max-age=300',
      'x-content-type-options': 'nosniff',
    },
  })
  expect(answer.raw.toString()).toContain('aria-label="acme: v1.0.0"')
  expect(await readSvg(answer.raw)).toMatchObject({ format: 'svg', height: 20 })
  const again = { headers: { 'if-none-match': answer.headers.etag ?? '' } }
  expect(await alice.get('/packages/acme/badges/version.svg', again)).toMatchObject({ status: 304 })
  await publish(alice, { name: 'acme', version: '1.1.0' })
  expect((await alice.get('/packages/acme/badges/version.svg', again)).raw.toString()).toContain('acme: v1.1.0')
  await alice.put('/api/packages/acme/options', { isDiscontinued: true })
  expect((await alice.get('/packages/acme/badges/version.svg')).raw.toString()).toContain('acme: discontinued')
})

it('shows that scoring is disabled', async () => {
  await using app = await testApp({ env: { SCORING_ENABLED: 'false' } })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  expect((await alice.get('/packages/acme/badges/score.svg')).raw.toString()).toContain('aria-label="score: disabled"')
  expect(await app.anonymous.get('/packages/acme/badges/score.svg')).toMatchObject({ status: 401 })
})

it('counts the downloads of the last 30 days, for signed-in users only', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await makePublic(app, 'acme')
  const path = '/packages/acme/badges/downloads.svg'
  expect((await alice.get(path)).raw.toString()).toContain('aria-label="downloads: 0/month"')
  for (let count = 0; count < 1234; count++) await alice.get('/api/archives/acme-1.0.0.tar.gz')
  await writeDownloads(app)
  expect((await alice.get(path)).raw.toString()).toContain('aria-label="downloads: 1.2K/month"')
  expect(await app.anonymous.get(path)).toMatchObject({ status: 401 })
  expect(await alice.get('/packages/nothing/badges/downloads.svg')).toMatchObject({ status: 404 })
})

it('renders any text as a valid SVG', async () => {
  const svg = renderBadge({ label: '<script>&"\u0000', value: "</text>'é", color: 'gray' })
  expect(svg).not.toContain('<script>')
  const { width, height } = await readSvg(svg)
  expect({ height, isWide: width > 60 }).toEqual({ height: 20, isWide: true })
})
