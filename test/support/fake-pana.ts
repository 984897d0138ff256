import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { analyzeOn, analyzeWithPana, type PanaResult, type PanaTask } from '../../server/pana/analyze.ts'
import type { TestApp } from '../app.ts'
import type { ArchiveOptions } from './archive.ts'
import { installFakeSdk } from './fake-sdk.ts'
import { publish } from './publish.ts'

type Options = Partial<PanaTask> & { /** The default one, which the server has to have installed. */ sdk?: 'default' }

/** Publishes a package, and judges it with a pana that reports what was recorded, unless another SDK is named. */
export async function analyzeWithFakePana(
  app: TestApp,
  contents: Partial<ArchiveOptions>,
  { sdk, ...options }: Options = {},
): Promise<PanaResult> {
  const { name = 'judged', version = '1.0.0' } = contents
  const bytes = await publish(await app.member(), { name, version, ...contents })
  const archive = join(app.config.DATA_DIR, `${name}.tar.gz`)
  writeFileSync(archive, bytes)
  const task = { versionId: await versionOf(app, name), name, version, archive, isPrivate: true, seconds: 20, docs: null, ...options }
  if (sdk === 'default') return analyzeWithPana(app.services, task)
  const installed = installFakeSdk(join(app.config.DATA_DIR, 'sdks', 'dart'))
  return analyzeOn(app.services, () => Promise.resolve(installed), task)
}

/** The id of the only version of a package. */
export async function versionOf(app: TestApp, name: string): Promise<string> {
  const sql = 'select v.id from package_versions v join packages p on p.id = v.package_id where p.name = ?'
  const row = await app.services.database.reads.get<{ id: string }>(sql, name)
  if (!row) throw new Error(`There is no version of ${name}.`)
  return row.id
}

/** The file of a package that the fake pana runs, as if the package had found a way to be run. */
export const attackFiles = (script: string): Record<string, string> => ({ 'tool/during_analysis.sh': script })
