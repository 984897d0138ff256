import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { analyzeOn, type PanaResult, type PanaTask } from '../../server/pana/analyze.ts'
import type { TestApp } from '../app.ts'
import type { ArchiveOptions } from './archive.ts'
import { installFakeSdk } from './fake-sdk.ts'
import { publish } from './publish.ts'

/** Publishes a package, and judges it with a pana that reports what was recorded. */
export async function judge(app: TestApp, contents: Partial<ArchiveOptions>, options: Partial<PanaTask> = {}): Promise<PanaResult> {
  const { name = 'judged', version = '1.0.0' } = contents
  const bytes = await publish(await app.member(), { name, version, ...contents })
  const archive = join(app.config.DATA_DIR, `${name}.tar.gz`)
  writeFileSync(archive, bytes)
  const row = await app.services.database.reads.get<{ id: string }>(
    'select v.id from package_versions v join packages p on p.id = v.package_id where p.name = ?',
    name,
  )
  const sdk = installFakeSdk(join(app.config.DATA_DIR, 'sdks', 'dart'))
  const task = { versionId: row?.id ?? '', name, version, archive, isPrivate: true, seconds: 20, docs: null, ...options }
  return analyzeOn(app.services, () => Promise.resolve(sdk), task)
}

/** The file of a package that the fake pana runs, as if the package had found a way to be run. */
export const attack = (script: string): Record<string, string> => ({ 'tool/during_analysis.sh': script })
