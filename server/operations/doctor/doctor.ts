import type { EntityManager } from '@mikro-orm/sql'
import { type Config, ConfigError, describeConfig, processEnvironment, readConfig } from '../../platform/config/config.ts'
import { misspeltVariables } from '../../platform/config/misspelt.ts'
import { weakSettings } from '../../platform/config/weak.ts'
import { type AddressFindings, checkAddress } from './address.ts'
import { checkArchives } from './archives.ts'
import { examineBackups } from './backups.ts'
import { type Check, examine } from './check.ts'
import { clockOf } from './clocks.ts'
import { examineDatabase } from './database.ts'
import { checkJobs } from './jobs.ts'
import { checkInstances } from './instances.ts'
import { checkAccount, checkFolder, checkSpace, checkVersions } from './machine.ts'
import { checkProxy } from './proxy.ts'
import { checkReach } from './reach.ts'
import { checkSandbox, checkSdks } from './sdks.ts'
import { examineStore } from './store.ts'

/** Results of all checks, and the effective settings with secrets masked; null if they are invalid. */
export type Diagnosis = { checks: Check[]; settings: string[] | null }

/**
 * Checks everything that the server depends on: settings, database, store, jobs, backups, URL, clocks, disk space, versions and SDKs. Works whether
 * or not the server is running, and changes no data. `quick` skips checks that read the whole database.
 */
export async function diagnose(environment: NodeJS.ProcessEnv | undefined, { quick }: { quick: boolean }): Promise<Diagnosis> {
  const config = settingsIn(environment)
  if (config instanceof ConfigError)
    return { checks: [...config.problems.map(refused), ...misspelt(environment), ...checkVersions(null)], settings: null }
  const address = await checkAddress(config)
  const database = await examineDatabase(config, { quick })
  try {
    const store = await examineStore(config, database)
    const { em } = database
    const checks = [
      { name: 'configuration', status: 'ok', message: `All settings are valid. SERVER_URL is ${config.SERVER_URL}.` } as const,
      ...misspelt(environment),
      ...weakSettings(config).map(({ name, message }) => warning(`${name} ${message}`)),
      ...database.checks,
      ...store.checks,
      ...(em ? await examine('archives', () => checkArchives(em)) : []),
      ...(em ? await examine('jobs', () => checkJobs(em, config)) : []),
      ...(await examineBackups(config, em)),
      ...(em ? await examine('instances', () => checkInstances(config, em)) : []),
      ...address.checks,
      ...(await checkRouting(config, em, address)),
      ...clockOf({ database: database.aheadMs, 'S3 service': store.aheadMs, server: address.aheadMs }),
      ...(await examine('folder', () => checkFolder(config))),
      ...(await examine('space', () => checkSpace(config))),
      ...(await examine('account', () => checkAccount(config))),
      ...checkVersions(address.version),
      ...(em ? await examine('SDKs', () => checkSdks(config, em)) : []),
      ...(await examine('sandbox', () => checkSandbox(config, em), 40_000)),
    ]
    return { checks, settings: describeConfig(config) }
  } finally {
    await database.close()
  }
}

/** Checks that requests to SERVER_URL reach this server, and that TRUST_PROXY matches the proxy. */
async function checkRouting(config: Config, em: EntityManager | null, { headers, version }: AddressFindings): Promise<Check[]> {
  if (!headers) return []
  const { checks, arrival } = await checkReach(config, em, version)
  return [...checks, checkProxy(config, { headers, arrival })]
}

const refused = (message: string): Check => ({ name: 'configuration', status: 'failed', message })

const warning = (message: string): Check => ({ name: 'configuration', status: 'warning', message })

const misspelt = (environment: NodeJS.ProcessEnv | undefined): Check[] => misspeltVariables(environment ?? processEnvironment).map(warning)

function settingsIn(environment: NodeJS.ProcessEnv | undefined): Config | ConfigError {
  try {
    return readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}
