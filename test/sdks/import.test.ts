import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importSdk } from '../../server/analysis/sdks/installing/import.ts'
import { readySdk } from '../../server/analysis/sdks/ready.ts'
import { testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { dartFiles, flutterFiles, tarXzOf, zipOf } from '../support/sdk-archives.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'

async function open() {
  const site = await SdkSite.open()
  const app = await testApp({ env: site.env })
  const bring = (bytes: Buffer) => {
    const path = join(app.config.DATA_DIR, 'brought')
    writeFileSync(path, bytes)
    return importSdk({ em: app.services.database.fork(), config: app.config }, path, app.services.now())
  }
  return { site, app, admin: await app.admin(), bring, config: app.config }
}

const json = {
  path: 'flutter/bin/cache/flutter.version.json',
  content: JSON.stringify({ frameworkVersion: '3.42.0-0.2.pre', channel: 'beta' }),
}

describe("an SDK archive on the server's disk", () => {
  it.each([
    ['dart', '3.11.0', 'stable', () => zipOf(dartFiles('3.11.0'))],
    ['flutter', '3.41.0', 'stable', () => tarXzOf(flutterFiles('3.41.0', '3.11.0'))],
  ])('installs %s %s without network access', async (kind, version, channel, pack) => {
    const { site, app, admin, bring } = await open()
    await using _ = app
    await bring(await pack())
    expect((await admin.get(installs)).body.installs).toMatchObject([{ kind, version, channel, status: 'extracting' }])
    await runJobs(app)
    expect((await admin.get(installs)).body.installs).toMatchObject([{ status: 'ready', isDefault: true }])
    expect(await readySdk(app.services, kind as 'dart')).toMatchObject({ version })
    expect(site.requests).toEqual([])
  })

  it('determines version and channel from the archive', async () => {
    const { app, admin, bring } = await open()
    await using _ = app
    const archives = [
      zipOf(dartFiles('3.12.0-12.3.beta')),
      zipOf(dartFiles('3.12.0-5.0.dev')),
      zipOf(flutterFiles('3.41.0', '3.11.0')),
      tarXzOf([json, ...flutterFiles('3.42.0-0.2.pre', '3.12.0').slice(1)]),
    ]
    for (const archive of archives) await bring(await archive)
    const found = (await admin.get(installs)).body.installs.map(
      (one: Record<string, string>) => `${one.kind} ${one.version} ${one.channel}`,
    )
    expect(found.toSorted()).toEqual([
      'dart 3.12.0-12.3.beta beta',
      'dart 3.12.0-5.0.dev dev',
      'flutter 3.41.0 stable',
      'flutter 3.42.0-0.2.pre beta',
    ])
  })

  it('is rebuilt by importing it again', async () => {
    const { app, admin, bring } = await open()
    await using _ = app
    const { id } = await bring(await zipOf(dartFiles('3.11.0')))
    await expect(bring(await zipOf(dartFiles('3.11.0')))).rejects.toMatchObject({ code: 'Conflict' })
    await runJobs(app)
    expect(await admin.post(`${installs}/${id}/rebuild`)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('import the file again: npm run admin -- import-sdk <file>') } },
    })
    expect((await bring(await zipOf(dartFiles('3.11.0')))).id).toBe(id)
    await runJobs(app)
    expect((await admin.get(installs)).body.installs).toMatchObject([{ id, status: 'ready', isDefault: true }])
  })

  it.each(['of a new SDK', 'of an installed SDK'])('is refused without changes when another import %s wins a race', async (when) => {
    const { app, admin, bring, config } = await open()
    await using _ = app
    const archive = await zipOf(dartFiles('3.11.0'))
    writeFileSync(join(config.DATA_DIR, 'brought'), archive)
    if (when === 'of an installed SDK') await bring(archive)
    await runJobs(app)
    const em = app.services.database.fork()
    const last = em.fork()
    const begin = last.transactional.bind(last)
    last.transactional = async (work) => bring(archive).then(() => begin(work))
    em.fork = () => last
    await expect(importSdk({ em, config }, join(config.DATA_DIR, 'brought'), app.services.now())).rejects.toMatchObject({
      code: 'Conflict',
    })
    await runJobs(app)
    expect((await admin.get(installs)).body.installs).toMatchObject([{ status: 'ready', errorMessage: null }])
    expect(readdirSync(join(config.DATA_DIR, 'sdks'))).toHaveLength(1)
  })

  it.each([
    ['another archive', () => zipOf([{ path: 'readme.txt', content: 'hello' }]), /is not an archive of a Dart or Flutter SDK/],
    ['of an invalid version', () => zipOf(dartFiles('../../3.11.0')), /has the invalid version "\.\.\/\.\.\/3\.11\.0"/],
    ['not an archive', () => Promise.resolve(Buffer.from('hello, this is text')), /neither a zip nor a tar\.xz file/],
  ])('is refused when it is %s', async (_what, pack, message) => {
    const { app, admin, bring } = await open()
    await using _ = app
    await expect(bring(await pack())).rejects.toThrow(message)
    expect((await admin.get(installs)).body.installs).toEqual([])
  })
})
