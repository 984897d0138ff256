import { type Report, type Section, totalChecks } from '../../server/analysis/report/report.ts'
import { PackageVersion } from '../../server/registry/packages/entity.ts'
import { beginRun, type Findings, storeFailure, storeFindings } from '../../server/analysis/scoring/store.ts'
import type { TestApp } from '../app.ts'

/** Returns a report with these points, and the same share of passed checks, rounded down. */
export function reportOf(granted: number, maximum: number, rest: Partial<Report> = {}): Report {
  const status = granted === maximum ? 'passed' : granted > 0 ? 'partial' : 'failed'
  const criterion = { id: 'pubspec', title: 'Provides a valid pubspec', granted, maximum, reason: 'Looks fine.', remedy: null }
  const section: Section = { id: 'convention', title: 'Follow Dart file conventions', granted, maximum, status, criteria: [criterion] }
  return {
    engine: { name: 'built-in', version: '1' },
    sections: [section],
    checks: Array.from({ length: totalChecks }, (_, index) => ({
      id: `check-${index}`,
      title: `Check ${index}`,
      reason: 'Looked at.',
      remedy: null,
      maximum: 10,
      granted: index < Math.floor((totalChecks * granted) / maximum) ? 10 : 0,
    })),
    notMeasured: [{ id: 'analysis', title: 'Pass static analysis', reason: 'It needs an SDK.' }],
    tags: [],
    notes: [],
    documented: { documented: 1, total: 2 },
    sizes: [{ kind: 'dart', files: 1, bytes: 20 }],
    ...rest,
  }
}

/** Returns the id of a version. */
export async function versionId({ services }: TestApp, name: string, version = '1.0.0'): Promise<string> {
  return (await services.database.fork().findOneOrFail(PackageVersion, { package: { name }, version })).id
}

/** Deletes all queued jobs. */
export const emptyQueue = ({ services }: TestApp): Promise<unknown> =>
  services.database.fork().execute("delete from jobs where state = 'queued'")

/** Starts an analysis of a version as the job does and returns its generation number. */
export const begin = async (app: TestApp, id: string): Promise<number> => (await beginRun(app.services.database.fork(), id)) ?? 0

/** Stores analysis results as the job does. */
export const store = (app: TestApp, id: string, findings: Findings): Promise<boolean> =>
  app.services.database.fork().transactional((em) => storeFindings(em, app.config, id, findings))

/** Stores this report as the analysis result of a version and deletes its jobs. */
export async function storeReport(app: TestApp, name: string, report: Report, version?: string): Promise<void> {
  const id = await versionId(app, name, version)
  await store(app, id, { generation: await begin(app, id), report })
  await app.services.database.fork().execute('delete from jobs where subject = ?', [id])
}

/** Stores a failed analysis of a version and deletes its jobs. */
export async function failed(app: TestApp, name: string, error: string): Promise<void> {
  const id = await versionId(app, name)
  await begin(app, id)
  await app.services.database.fork().transactional((em) => storeFailure(em, id, error))
  await app.services.database.fork().execute('delete from jobs where subject = ?', [id])
}
