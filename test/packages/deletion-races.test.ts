import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { jobHandlers } from '../../server/job-handlers.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { runJobs } from '../support/jobs.ts'
import { finish, publish, upload } from '../support/publish.ts'

it('never lists a version without an archive during concurrent publishes and deletions', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const worker = startWorker(app.services, jobHandlers(app.services))
  const outcomes = new Set<string>()
  for (let round = 0; round < interleavings * 2; round++) {
    const name = `acme${round}`
    await publish(alice, { name, version: '1.0.0' })
    const uploadId = await upload(alice, await packageArchive({ name, version: '1.1.0' }))
    const target = `/api/admin/packages/${name}${round % 2 ? '' : '/versions/1.0.0'}`
    const [published, deleted] = await interleave(app, Math.floor(round / 2), [() => finish(alice, uploadId), () => admin.delete(target)])
    outcomes.add(`${published.status} ${deleted.status}`)
    const { status, body } = await alice.get(`/api/packages/${name}`)
    for (const { version } of status === 200 ? [body.latest, ...body.versions] : []) {
      const archive = await alice.get(`/api/archives/${name}-${version}.tar.gz`)
      expect({ name, version, status: archive.status }).toEqual({ name, version, status: 200 })
    }
  }
  await worker.settled()
  await worker.stop()
  expect([...outcomes].filter((outcome) => !['200 200', '409 200'].includes(outcome))).toEqual([])
  const left = (await alice.get('/api/package-names')).body.packages as string[]
  for (const name of left) expect(await alice.get(`/api/archives/${name}-1.1.0.tar.gz`)).toMatchObject({ status: 200 })
})

it('completes a download in progress when the version is deleted', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const archive = await publish(alice, { name: 'acme', version: '1.0.0', files: { 'lib/large.bin': randomBytes(8 * 1024 ** 2) } })
  const url = await app.listen()
  const response = await fetch(`${url}/api/archives/acme-1.0.0.tar.gz`, { headers: { authorization: `Bearer ${alice.secret}` } })
  const reader = response.body?.getReader()
  const parts = [(await reader?.read())?.value ?? new Uint8Array()]
  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 200 })
  await runJobs(app)
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) parts.push(part.value)
  expect(Buffer.concat(parts).equals(archive)).toBe(true)
  // The server has also finished the download.
  await expect.poll(() => app.lines.join('')).toContain('GET /api/archives')
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 404 })
})

it('answers 404 instead of 500 when the bytes disappear during the lookup', async () => {
  await using app = await testApp({ alone: true })
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const open = app.services.blobs.read
  app.services.blobs.read = async (sha256) => {
    await admin.delete('/api/admin/packages/acme')
    await runJobs(app)
    return open(sha256)
  }
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})
