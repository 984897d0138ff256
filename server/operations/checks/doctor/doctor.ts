import type { EntityManager } from '@mikro-orm/sql'
import { type Config, ConfigError, describeConfig, processEnvironment, readConfig } from '../../../platform/config/config.ts'
import { misspeltVariables, weakSettings } from '../../../platform/config/warnings.ts'
import { knownFaults } from '../../../registry/packages/listing/faults.ts'
import { adminCommand } from '../../../platform/config/version.ts'
import { deriveKeys } from '../../../platform/http/keys.ts'
import { disagreements } from '../instances.ts'
import { db } from '../../../platform/db/query.ts'
import { forkReads } from '../../../platform/db/reads.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { type AddressFindings, checkAddress } from './address.ts'
import { examineSignIn, type SignInFindings } from './sign-in.ts'
import { examineBackups, examineStore } from './store.ts'
import { type Check, examine, failed, passed, warning, messageOf } from './check.ts'
import { clockOf, checkAccount, checkOpenFileLimit, checkFolder, checkSpace, checkVersions } from './machine.ts'
import { examineDatabase } from './database.ts'
import { checkProxy, checkReach } from './reach.ts'
import { sandboxProblem, sandboxWarning } from '../../../platform/sandbox/run.ts'
import { SdkInstall } from '../../../analysis/sdks/entity.ts'
import { isUsable } from '../../../analysis/sdks/ready.ts'
import { sdkTitle } from '../../../analysis/sdks/service.ts'
import { sealedProblem } from '../sealed.ts'
import { NotFetched } from '../../../platform/outbound/request.ts'
import { accessRejected } from '../../../registry/mirror/health.ts'
import { requestUpstream } from '../../../registry/mirror/upstream.ts'
import { describeRoute } from '../../../platform/outbound/proxy.ts'
import { bucketUrl } from '../../../platform/blobs/s3/settings.ts'

/**
 * Checks everything that the server depends on, whether or not it is running, and changes no data. `quick` skips checks that
 * read the whole database. Health checks of a running server are separate: they use its connections and end within seconds.
 */
export async function diagnose(environment: NodeJS.ProcessEnv | undefined, { quick }: { quick: boolean }) {
  const config = settingsIn(environment)
  if (config instanceof ConfigError)
    return {
      checks: [...config.problems.map((problem) => failed('configuration', problem)), ...misspelt(environment), ...checkVersions(null)],
      settings: null,
    }
  const address = await checkAddress(config)
  const database = await examineDatabase(config, { quick })
  try {
    const store = await examineStore(config, database)
    const { em } = database
    const signIn = em ? await examineSignIns(em, config) : noSignIn
    const checks = [
      passed('configuration', `All settings are valid. SERVER_URL is ${config.SERVER_URL}.`),
      ...misspelt(environment),
      ...weakSettings(config).map(({ message }) => warning('configuration', message)),
      ...database.checks,
      ...store.checks,
      ...(em ? await examineRows(em, config) : []),
      ...(await examineBackups(config, em)),
      ...signIn.checks,
      ...address.checks,
      ...(await checkRouting(config, em, address)),
      ...clockOf({ database: database.aheadMs, 'S3 service': store.aheadMs, server: address.aheadMs, ...signIn.aheadMs }),
      ...(await examine('folder', () => checkFolder(config))),
      ...(await examine('space', () => checkSpace(config))),
      ...(await examine('mirror', () => checkUpstream(config))),
      ...checkRoutes(config),
      ...(await examine('account', () => checkAccount(config))),
      checkOpenFileLimit(),
      ...checkVersions(address.version),
      ...(await examine('sandbox', () => checkSandbox(config, em), 40_000)),
    ]
    return { checks, settings: describeConfig(config) }
  } finally {
    await database.close()
  }
}

const examineRows = async (em: EntityManager, config: Config): Promise<Check[]> => [
  ...(await examine('archives', () => checkArchives(em))),
  ...(await examine('jobs', () => checkJobs(em, config))),
  ...(await examine('SDKs', () => checkSdks(config, em))),
  ...(await examine('instances', () => checkInstances(config, em))),
  ...(await examine('secrets', () => checkSecrets(config, em))),
]

const noSignIn: SignInFindings = { checks: [], aheadMs: {} }

async function examineSignIns(em: EntityManager, config: Config): Promise<SignInFindings> {
  const found = { ...noSignIn }
  const keys = deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS)
  const checks = await examine('sign-in', async () => Object.assign(found, await examineSignIn({ em, config, keys })).checks, 40_000)
  return { ...found, checks }
}

/** Checks that requests to SERVER_URL reach this server, and that TRUST_PROXY matches the proxy. */
async function checkRouting(config: Config, em: EntityManager | null, { headers, version }: AddressFindings): Promise<Check[]> {
  if (!headers) return []
  const { checks, arrival } = await checkReach(config, em, version)
  return [...checks, checkProxy(config, { headers, arrival })]
}

const misspelt = (environment: NodeJS.ProcessEnv | undefined): Check[] =>
  misspeltVariables(environment ?? processEnvironment).map((problem) => warning('configuration', problem))

function settingsIn(environment: NodeJS.ProcessEnv | undefined): Config | ConfigError {
  try {
    return readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

/** Maximum number of archives listed in the message. */
const maxNamed = 3

/** Checks whether any archives are known to be missing or damaged. Does not read archives; `check-integrity` does. */
async function checkArchives(em: EntityManager): Promise<Check[]> {
  const faults = await knownFaults(forkReads(() => em))
  if (faults.length === 0) return [passed('archives', 'No archive is known to be missing or damaged.')]
  const named = faults.slice(0, maxNamed).map((fault) => `${fault.package} ${fault.version} (${fault.kind})`)
  const more = faults.length > maxNamed ? ', and others' : ''
  const message = `Archives of versions cannot be downloaded: ${named.join(', ')}${more}.`
  const advice = `Copy the files from a backup into the store. The server detects them within ten minutes. To check all archives: ${adminCommand} check-integrity`
  return [failed('archives', message, advice)]
}

/** Checks that the running instances have the same settings as this command. SQLite supports only one instance. */
async function checkInstances(config: Config, em: EntityManager): Promise<Check[]> {
  if (config.DB_BACKEND === 'sqlite') return []
  const { running, problems } = await disagreements(em, config, deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS))
  if (problems.length === 0) return [passed('instances', `Running instances: ${running}. Their settings match.`)]
  const advice = 'Use the same settings for all instances and for this command.'
  return problems.map((message) => warning('instances', message, advice))
}

/** Reports secrets that cannot be decrypted. Returns nothing without any. */
async function checkSecrets(config: Config, em: EntityManager): Promise<Check[]> {
  const problem = await sealedProblem(em, config, deriveKeys(config.JWT_SECRET, config.JWT_SECRET_PREVIOUS))
  return problem ? [warning('secrets', problem.text, problem.advice)] : []
}

/** Reports jobs that have failed permanently, with the number and the last failure per kind. Failed jobs do not affect the server itself. */
async function checkJobs(em: EntityManager, { SERVER_URL }: Pick<Config, 'SERVER_URL'>): Promise<Check[]> {
  const rows = await readRows(
    em,
    db
      .selectFrom('jobs')
      .select(({ fn }) => ['kind', fn.countAll<number>().as('total'), fn.max('finished_at').as('last')])
      .where('state', '=', 'failed')
      .groupBy('kind')
      .orderBy('total', 'desc')
      .orderBy('kind'),
  )
  if (rows.length === 0) return [passed('jobs', 'No jobs have failed.')]
  const kinds = rows.map(({ kind, total, last }) => `${total} of ${kind}${last === null ? '' : `, last at ${last.toISOString()}`}`)
  const advice = `See ${SERVER_URL}/admin/jobs for the causes, and to retry the jobs. Failed jobs are deleted after 90 days.`
  return [warning('jobs', `Jobs have failed: ${kinds.join('; ')}.`, advice)]
}

/** Checks which SDKs are installed, and whether they are usable on this machine. */
async function checkSdks(config: Config, em: EntityManager): Promise<Check[]> {
  const installs = await em.find(SdkInstall, {}, { orderBy: { kind: 'asc', version: 'asc' } })
  if (!config.SCORING_ENABLED) return [passed('SDKs', 'Versions are not analyzed on this server (SCORING_ENABLED=false).')]
  if (installs.length === 0) return [passed('SDKs', 'No SDK is installed: the built-in engine analyzes all versions.')]
  return Promise.all(installs.map((install) => checkSdk(config, install)))
}

async function checkSdk(config: Config, install: SdkInstall): Promise<Check> {
  const name = sdkTitle(install)
  if (install.status === 'failed') {
    const message = `Installing ${name} failed: ${(install.errorMessage ?? '').replaceAll('\n', ' ')}`
    return warning('SDKs', message, 'Install it again or remove it at /admin/sdks.')
  }
  if (install.status !== 'ready') return passed('SDKs', `${name} is being installed (${install.status}).`)
  if (await isUsable(config, install)) return passed('SDKs', `${name} is ready${install.isDefault ? ' and the default' : ''}.`)
  const advice = 'Share DATA_DIR/sdks between the instances, or install it again at /admin/sdks.'
  return warning('SDKs', `${name} is installed, but not on this machine or not for its platform.`, advice)
}

/** Checks that the configured sandbox works. `em` is null if it is unknown whether an SDK is installed. */
async function checkSandbox(config: Config, em: EntityManager | null): Promise<Check[]> {
  if (!config.SCORING_ENABLED || !em || (await em.count(SdkInstall, { status: 'ready' })) === 0) {
    const setting = config.SCORING_SANDBOX ?? 'not set'
    return [passed('sandbox', `SCORING_SANDBOX is ${setting}; without an SDK, it is not used.`)]
  }
  const services = { config, state: {} }
  const problem = await sandboxProblem(services)
  if (problem !== null) return [failed('sandbox', problem)]
  const doubt = await sandboxWarning(services)
  if (doubt !== null) return [warning('sandbox', doubt)]
  return [passed('sandbox', `Programs of SDKs run in the sandbox ${config.SCORING_SANDBOX}.`)]
}

const timeoutMs = 10_000

/**
 * Checks that the upstream server of the mirror answers like a package server. Sends one request, for names of packages.
 * Returns nothing without a mirror.
 */
async function checkUpstream(config: Config): Promise<Check[]> {
  const { UPSTREAM_URL } = config
  if (UPSTREAM_URL === undefined) return []
  const advice =
    'Check UPSTREAM_URL, DNS_SERVERS and the firewall. Until then, clients get only what is in the mirror. In a closed network, this is expected.'
  try {
    const url = `${UPSTREAM_URL}/api/package-name-completion-data`
    const answer = await requestUpstream({ config }, url, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
    })
    answer.destroy()
    const status = answer.statusCode ?? 0
    if (status === 401 || status === 403) return [warning('mirror', `${accessRejected(config, status).message}.`)]
    if (status < 500) return [passed('mirror', `The upstream server ${UPSTREAM_URL} answers (status ${status}).`)]
    return [warning('mirror', `The upstream server ${UPSTREAM_URL} answers with status ${status}.`, advice)]
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error
    return [warning('mirror', `The upstream server ${UPSTREAM_URL} does not answer: ${messageOf(error)}.`, advice)]
  }
}

/** Describes which requests to other servers go through a forward proxy, if there is one. */
function checkRoutes(config: Config): Check[] {
  const { HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, UPSTREAM_URL, SDK_ARCHIVE_URL, BLOB_BACKEND } = config
  if ((HTTP_PROXY ?? HTTPS_PROXY ?? ALL_PROXY) === undefined) return []
  const targets: [string, string | URL | undefined][] = [
    ['the mirror', UPSTREAM_URL],
    ['SDKs', SDK_ARCHIVE_URL],
    ['images of READMEs', 'https://images.invalid'],
    ['archives in S3', BLOB_BACKEND === 's3' ? bucketUrl(config) : undefined],
  ]
  const routes = targets.flatMap(([what, url]) => (url === undefined ? [] : [`${what}: ${describeRoute(config, new URL(url))}`]))
  return [passed('forward proxy', `Requests to other servers are sent as follows. ${routes.join('; ')}.`)]
}
