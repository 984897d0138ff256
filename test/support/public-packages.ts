import { Package } from '../../server/registry/packages/entity.ts'
import { refreshWithDependents } from '../../server/registry/search/refresh-index.ts'
import type { ArchiveOptions } from './archive.ts'
import { type TestApp, testApp, type TestOptions } from '../app.ts'

/** Starts a server on which public packages are permitted and enabled. */
export async function publicApp(options: TestOptions = {}): Promise<TestApp> {
  const app = await testApp({ ...options, env: { PUBLIC_PACKAGES_ENABLED: 'true', ...options.env } })
  await setSwitch(app, true)
  return app
}

/** Enables or disables public packages. */
export async function setSwitch(app: TestApp, enabled: boolean): Promise<void> {
  const { status, body } = await (await app.admin()).put('/api/admin/public-packages', { enabled })
  if (status !== 200) throw new Error(`Cannot turn the switch: ${JSON.stringify(body)}`)
}

/** Makes packages public directly in the database. */
export async function makePublic(app: TestApp, ...names: string[]): Promise<void> {
  await app.services.database.fork().transactional(async (em) => {
    await em.nativeUpdate(Package, { name: { $in: names } }, { visibility: 'public' })
    await refreshWithDependents(em, app.config, names)
  })
}

/** Returns a version that depends on packages of this server. */
export const dependent = (name: string, version: string, dependencies: string[], dev: string[] = []): ArchiveOptions => ({
  name,
  version,
  pubspec: `${block('dependencies', dependencies)}${block('dev_dependencies', dev)}`,
})

const block = (field: string, names: string[]) =>
  names.length > 0 ? `${field}:\n${names.map((name) => `  ${name}:\n    hosted: http://localhost:8080\n    version: any\n`).join('')}` : ''
