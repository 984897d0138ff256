import { gzipSync } from 'node:zlib'
import type { Surface } from '../../server/analysis/dart/surface.ts'
import type { TestApp } from '../app.ts'
import { begin, reportOf, store, versionId } from './reports.ts'

/** Returns the public API of a package with one library of these functions. */
export const surfaceOf = (functions: Record<string, string>): Surface => ({
  format: 1,
  declarations: Object.entries(functions).map(([name, signature]) => ({ kind: 'function', name, signature })),
  libraries: [{ path: 'acme.dart', shows: Object.keys(functions).map((_, index) => index), foreignExports: [] }],
})

/** Stores the public API of a version of the package acme, as its analysis does. */
export async function storeSurface(app: TestApp, version: string, surface: object): Promise<void> {
  const id = await versionId(app, 'acme', version)
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface: gzipSync(JSON.stringify(surface)) })
}
