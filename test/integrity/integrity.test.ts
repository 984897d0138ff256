import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

const report = '{ integrityReport { archives missing damaged orphans orphanBytes findings { kind package version sha256 bytes } } }'

it('reports missing and damaged archives and orphaned files', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const [whole, lost, changed] = [
    await publish(alice, { name: 'acme', version: '1.0.0' }),
    await publish(alice, { name: 'acme', version: '1.1.0' }),
    await publish(alice, { name: 'acme', version: '1.2.0' }),
  ]
  expect((await admin.graphql(report)).body.data.integrityReport).toBeNull()
  const started = await admin.graphql('mutation { checkIntegrity }')
  expect((await admin.graphql('mutation { checkIntegrity }')).body).toEqual(started.body)
  await runJobs(app)
  const clean = { archives: 3, missing: 0, damaged: 0, orphans: 0, orphanBytes: 0, findings: [] }
  expect((await admin.graphql(report)).body.data.integrityReport).toEqual(clean)

  await rm(pathOf(app, shaOf(lost)))
  await writeFile(pathOf(app, shaOf(changed)), 'something else')
  // Files next to a valid archive. A recent file may belong to a publish in progress.
  const siblingPath = (name: string) => join(pathOf(app, shaOf(whole)), '..', name)
  const [old, young] = ['a'.repeat(64), 'b'.repeat(64)]
  for (const name of [old, young]) await writeFile(siblingPath(name), 'orphan')
  const longAgo = new Date(Date.now() - 2 * 3_600_000)
  await utimes(siblingPath(old), longAgo, longAgo)
  await admin.graphql('mutation { checkIntegrity }')
  await runJobs(app)
  const found = (await admin.graphql(report)).body.data.integrityReport
  expect(found).toMatchObject({ archives: 3, missing: 1, damaged: 1, orphans: 1, orphanBytes: 6 })
  expect(found.findings).toEqual([
    { kind: 'MISSING', package: 'acme', version: '1.1.0', sha256: shaOf(lost), bytes: lost.length },
    { kind: 'DAMAGED', package: 'acme', version: '1.2.0', sha256: shaOf(changed), bytes: changed.length },
    { kind: 'ORPHAN', package: null, version: null, sha256: old, bytes: 6 },
  ])
  const { nodes } = (await admin.graphql('{ jobs(first: 2) { nodes { kind state phase done } } }')).body.data.jobs
  expect(nodes[0]).toMatchObject({ kind: 'integrity.check', state: 'DONE', phase: 'orphans' })
})

it("shows administrators the server's environment without secrets", async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const query =
    '{ selfCheck { configuration { name value problem } storage { backend path problem freeBytes } clocks { server database } request { clientAddress peerAddress host forwardedFor forwardedProto isSecure } } }'
  const answer = await admin.graphql(
    query,
    {},
    { ip: '10.1.2.3', headers: { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https', host: 'pub.example.com' } },
  )
  const { configuration, storage, clocks, request } = answer.body.data.selfCheck
  expect(configuration).toContainEqual({ name: 'JWT_SECRET', value: '********', problem: null })
  expect(configuration).toContainEqual({ name: 'SERVER_URL', value: 'http://localhost:8080', problem: null })
  expect(configuration).toContainEqual({ name: 'BCRYPT_COST', value: '4', problem: expect.stringMatching(/^BCRYPT_COST is 4: /) })
  expect(JSON.stringify(answer.body)).not.toContain(app.config.JWT_SECRET)
  expect(storage).toMatchObject({ backend: 'filesystem', path: app.config.BLOB_PATH, problem: null, freeBytes: expect.any(Number) })
  expect(Math.abs(Date.parse(clocks.server) - Date.parse(clocks.database))).toBeLessThan(5000)
  expect(request).toEqual({
    clientAddress: '203.0.113.9',
    peerAddress: '10.1.2.3',
    host: 'pub.example.com',
    forwardedFor: '203.0.113.9',
    forwardedProto: 'https',
    isSecure: true,
  })
  await rm(app.config.BLOB_PATH, { recursive: true })
  expect((await admin.graphql(query)).body.data.selfCheck.storage.problem).toContain('does not respond')
})
