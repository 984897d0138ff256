import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { analyzeOn, analyzeWithPana, type PanaResult, type PanaTask } from '../../server/analysis/pana/analyze.ts'
import type { TestApp } from '../app.ts'
import type { ArchiveOptions } from './archive.ts'
import { installFakeSdk } from './fake-sdk.ts'
import { publish } from './publish.ts'

/** `sdk: 'default'` uses the default SDK of the server, which must be installed. */
type Options = Partial<PanaTask> & { sdk?: 'default' }

/** Publishes a package and analyzes it with a fake pana that prints a recorded report, or with the default SDK of the server. */
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

/** Returns the id of the only version of a package. */
export async function versionOf(app: TestApp, name: string): Promise<string> {
  const sql = 'select v.id from package_versions v join packages p on p.id = v.package_id where p.name = ?'
  const row = await app.services.database.reads.get<{ id: string }>(sql, name)
  if (!row) throw new Error(`There is no version of ${name}.`)
  return row.id
}

/** Returns package files with a script that the fake pana executes, to simulate a package that runs code during its analysis. */
export const attackFiles = (script: string): Record<string, string> => ({ 'tool/during_analysis.sh': script })
