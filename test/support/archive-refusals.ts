import { Readable } from 'node:stream'
import { beforeAll, expect, it } from 'vitest'
import { inspectPackage, type InspectedPackage } from '../../server/registry/archive/inspect.ts'
import { packageArchive } from './archive.ts'
import { measureRejection } from './hostile-archives.ts'
import { tarEntry } from './tar.ts'

const rules = { serverUrl: 'https://pub.example.com', allowedHostedUrls: [] }
const MiB = 1024 ** 2

/** Inspects an archive with the code that publishing uses. */
export const inspect = (source: Readable): Promise<InspectedPackage> => inspectPackage(source, rules)

/** Returns the tar entry of a file. */
export const file = (name: string, content = 'x'): Buffer => tarEntry({ name }, content)

/** Returns the tar entry of a directory. */
export const directory = (name: string): Buffer => tarEntry({ name, type: '5' })

/** Invalid archive: its defect, a function that creates it, and a part of the expected message. */
export type Case = [kind: string, make: () => Readable, message: string]

/** Defines a test for each archive: it is rejected with a one-line message within three seconds and 64 MB, and its stream is closed. */
export function itRejects(cases: Case[]): void {
  it.each(cases)('rejects %s', async (_kind, make, message) => {
    const refused = await measureRejection(make(), inspect)
    expect(refused).toMatchObject({ code: 'PackageRejected', destroyed: true })
    expect(refused.message).toContain(message)
    expect(refused.message).toMatch(/^[\x20-\x7e]{1,1024}$/)
    expect(refused.time).toBeLessThan(3000)
    expect(refused.memory).toBeLessThan(64 * MiB)
  })
}

/** Inspects large archives before the tests, so that the code is compiled and the heap has its usual size when memory is measured. */
export function warmUp(): void {
  beforeAll(async () => {
    const archive = await packageArchive({ name: 'foo', version: '1.0.0', files: { 'big.bin': Buffer.alloc(64 * MiB) } })
    for (let run = 0; run < 3; run += 1) await inspect(Readable.from([archive]))
  })
}
