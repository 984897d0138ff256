import { Readable } from 'node:stream'
import { beforeAll, expect, it } from 'vitest'
import { inspectPackage, type InspectedPackage } from '../../server/archive/inspect.ts'
import { packageArchive } from './archive.ts'
import { measureRefusal } from './hostile-archives.ts'
import { tarEntry } from './tar.ts'

const rules = { serverUrl: 'https://pub.example.com', allowedHostedUrls: [] }
const MiB = 1024 ** 2

/** Inspects an archive as publishing does. */
export const inspect = (source: Readable): Promise<InspectedPackage> => inspectPackage(source, rules)

/** A file in a tar. */
export const file = (name: string, content = 'x'): Buffer => tarEntry({ name }, content)

/** A directory in a tar. */
export const directory = (name: string): Buffer => tarEntry({ name, type: '5' })

/** An archive that must be refused: what is wrong with it, how it is made, and what the message contains. */
export type Case = [kind: string, make: () => Readable, message: string]

/** Every refusal is a clear line, within three seconds and 64 MB, and leaves no stream open. */
export function itRejects(cases: Case[]): void {
  it.each(cases)('%s', async (_kind, make, message) => {
    const refused = await measureRefusal(make(), inspect)
    expect(refused).toMatchObject({ code: 'PackageRejected', destroyed: true })
    expect(refused.message).toContain(message)
    expect(refused.message).toMatch(/^[\x20-\x7e]{1,1024}$/)
    expect(refused.time).toBeLessThan(3000)
    expect(refused.memory).toBeLessThan(64 * MiB)
  })
}

/** Has the code compiled and the heap at its usual size before anything is measured. */
export function warmUp(): void {
  beforeAll(async () => {
    const archive = await packageArchive({ name: 'foo', version: '1.0.0', files: { 'big.bin': Buffer.alloc(64 * MiB) } })
    for (let run = 0; run < 3; run += 1) await inspect(Readable.from([archive]))
  })
}
