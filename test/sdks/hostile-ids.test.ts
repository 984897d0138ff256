import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Job } from '../../server/platform/jobs/entity.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { SdkInstall } from '../../server/analysis/sdks/entity.ts'
import { collectSdks } from '../../server/analysis/sdks/installing/install.ts'
import { thisPlatform } from '../../server/analysis/sdks/platform.ts'
import { readySdk } from '../../server/analysis/sdks/ready.ts'
import { sdkInstallKind, sdkRemovalKind } from '../../server/analysis/sdks/service.ts'
import { testApp, type TestApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'

const folderNames = ['victim.1', 'victim.2']

/** Creates a folder with files outside DATA_DIR and returns its relative path from the SDK folder. */
function createOutsideFolder({ config }: TestApp) {
  const folder = mkdtempSync(join(tmpdir(), 'snug-outside-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of folderNames) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'ready'), '')
  }
  expect(dirname(config.DATA_DIR)).toBe(dirname(folder))
  mkdirSync(join(config.DATA_DIR, 'sdks'), { recursive: true })
  const isWhole = () => folderNames.every((name) => existsSync(join(folder, name, 'ready')))
  return { id: `../../${basename(folder)}/victim`, isWhole }
}

it.each([sdkInstallKind, sdkRemovalKind])('does not remove folders outside DATA_DIR for a job %s with a path as subject', async (kind) => {
  await using app = await testApp()
  const { id, isWhole } = createOutsideFolder(app)
  const { database, now } = app.services
  await enqueue(database.fork(), { kind, subject: id, payload: { generation: 1 } }, now())
  await runJobs(app)
  expect(isWhole()).toBe(true)
  const job = await database.fork().findOneOrFail(Job, { kind, subject: id })
  expect(job).toMatchObject({
    state: 'failed',
    attempts: 1,
    error: expect.stringMatching(/^The subject of a job sdk\.\w+ must be an id, not "/),
  })
})

it('does not use or remove folders outside DATA_DIR for an installation with a path as id', async () => {
  await using app = await testApp()
  const { id, isWhole } = createOutsideFolder(app)
  const { config, database, log, now } = app.services
  const em = database.fork()
  const row = { kind: 'dart', version: '3.11.0', channel: 'stable', platform: thisPlatform().sdkPlatform, isDefault: true } as const
  const inserted = em.insert(SdkInstall, { ...row, id, status: 'ready', generation: 2, createdAt: now() }).then(
    () => true,
    () => false,
  )
  // PostgreSQL's uuid type refuses such ids.
  expect(await inserted).toBe(config.DB_BACKEND === 'sqlite')
  expect(await readySdk(app.services, 'dart')).toBeNull()
  await em.nativeUpdate(SdkInstall, {}, { status: 'downloading' })
  await enqueue(em, { kind: sdkInstallKind, subject: id, payload: { generation: 2 } }, now())
  await runJobs(app)
  await collectSdks({ config, database, log })
  expect(isWhole()).toBe(true)
})
