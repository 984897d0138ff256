import { existsSync, readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readySdk } from '../../server/analysis/sdks/ready.ts'
import { type TestApp, testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const dart = { version: '3.11.0', channel: 'stable' }
const flutter = { kind: 'flutter', version: '3.41.0', channel: 'stable' }

async function open() {
  const site = await SdkSite.open()
  await site.addDart('3.11.0')
  await site.addFlutter('3.41.0', '3.11.0')
  const app = await testApp({ env: site.env })
  return { site, app, admin: await app.admin() }
}

const foldersOf = ({ config }: TestApp) => (existsSync(join(config.DATA_DIR, 'sdks')) ? readdirSync(join(config.DATA_DIR, 'sdks')) : [])

describe('an installation', () => {
  it.each([
    { body: dart, kind: 'dart', version: '3.11.0' },
    { body: flutter, kind: 'flutter', version: '3.41.0' },
  ])('of $kind is downloaded, unpacked, tested and made ready and default, with pana', async ({ body, kind, version }) => {
    const { app, admin } = await open()
    await using _ = app
    const asked = await admin.post(installs, body)
    expect(asked).toMatchObject({
      status: 201,
      body: { kind, version, channel: 'stable', platform: `linux-${process.arch}`, status: 'downloading', isDefault: false, path: null },
    })
    await runJobs(app)
    const { installs: all } = (await admin.get(installs)).body
    expect(all).toMatchObject([{ id: asked.body.id, status: 'ready', isDefault: true, errorMessage: null, readyAt: expect.any(String) }])
    expect(all[0].sizeBytes).toBeGreaterThan(1000)
    const progress = await admin.get(`${installs}/${asked.body.id}/progress`)
    expect(progress.body).toMatchObject({ installId: asked.body.id, status: 'ready', percent: 100 })
    expect(progress.body.log.join('\n')).toMatch(
      /Downloading[^]*SHA-256[^]*Unpack[^]*Dart SDK version: 3\.11\.0[^]*Activated pana 0\.23\.18[^]*is ready/,
    )
    const ready = await readySdk(app.services, kind as 'dart')
    expect(ready).toMatchObject({ id: asked.body.id, version, dartVersion: '3.11.0', panaVersion: '0.23.18', path: all[0].path })
    expect((await stat(ready?.dart ?? '')).mode & 0o777).toBe(0o755)
    expect(await readFile(ready?.panaPath ?? '', 'utf8')).toContain('#!/bin/sh')
    expect((await admin.get('/api/admin/audit-log?kind=server.sdk_installed')).body.entries).toMatchObject([
      { agent: { userId: admin.id }, summary: expect.stringContaining(`${version} (stable)`) },
    ])
    // No temporary files remain.
    expect(readdirSync(join(app.config.DATA_DIR, 'sdks', foldersOf(app)[0] ?? '')).toSorted()).toEqual(['pub-cache', 'ready', 'sdk'])
  })
  it.each([
    [
      'different from the listing',
      (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('more')]),
      /^The SHA-256 of .* does not match .*, the value published by the archive/,
    ],
    ['missing', () => null, /^The archive no longer exists/],
  ])('of flutter fails immediately and leaves no files when its archive is %s', async (_what, become, message) => {
    const { site, app, admin } = await open()
    await using _ = app
    const path = [...site.files.keys()].find((one) => one.endsWith('.tar.xz')) ?? ''
    const bytes = become(site.files.get(path) ?? Buffer.alloc(0))
    if (bytes) site.files.set(path, bytes)
    else site.files.delete(path)
    await admin.post(installs, flutter)
    await runJobs(app)
    expect((await admin.get(installs)).body.installs).toMatchObject([{ status: 'failed', errorMessage: expect.stringMatching(message) }])
    expect(foldersOf(app)).toEqual([])
  })
})
