import { z } from 'zod'
import { invalidInput, serviceUnavailable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { fairQueueKey } from '../../platform/http/limits.ts'
import { compareParsed, known } from '../../platform/pub/version.ts'
import { createFairLimiter } from '../../platform/threads/fair-limiter.ts'
import { openThreadPool, ThreadFailed } from '../../platform/threads/pool.ts'
import type { Package, PackageVersion } from '../packages/entity.ts'
import { isThisServer } from '../packages/hosting.ts'
import { loadReadablePackage } from '../packages/service.ts'
import { findVersion, latestVersion } from '../packages/versions/service.ts'
import { type LockedPackage, type LockFile, reasons } from './lock-file.ts'

/** How a locked version relates to the latest one. `unknown`: the package or the version does not exist for the caller. */
export type UpgradeState = 'behind' | 'current' | 'unknown'

/** A package of this registry in a lock file. `package`, `locked` and `latest` are null if they do not exist for the caller. */
export type CheckedPackage = LockedPackage & {
  state: UpgradeState
  package: Package | null
  locked: PackageVersion | null
  latest: PackageVersion | null
}

/** Packages of this registry, outdated ones first. Other packages are only counted. */
export type UpgradeCheck = { packages: CheckedPackage[]; elsewhere: number; otherSources: number }

/** Maximum number of packages of this registry in a lock file. */
export const maxPackages = 500

/**
 * Checks which packages of this registry in a pubspec.lock have a later version. The text is not stored.
 * @throws ApiError InvalidInput if the text is not a pubspec.lock; ServiceUnavailable when too many files are waiting.
 */
export async function checkUpgrades(context: Context, text: string): Promise<UpgradeCheck> {
  context.budget?.spendText(Buffer.byteLength(text))
  const { hosted, otherSources } = await readInThread(context, text)
  const isHere = await Promise.all(hosted.map(({ hostedUrl }) => isThisServer(context, hostedUrl)))
  const here = hosted.filter((_, index) => isHere[index])
  if (here.length > maxPackages)
    throw invalidInput(`The file has ${here.length} packages of this server, and at most ${maxPackages} can be checked.`, 'lock')
  context.budget?.spendObjects(here.length)
  const packages = await Promise.all(here.map((locked) => check(context, locked)))
  const order = ({ state }: CheckedPackage) => ['behind', 'unknown', 'current'].indexOf(state)
  packages.sort((a, b) => order(a) - order(b) || (a.name < b.name ? -1 : 1))
  return { packages, elsewhere: hosted.length - here.length, otherSources }
}

async function check(context: Context, entry: LockedPackage): Promise<CheckedPackage> {
  const pkg = await loadReadablePackage(context, entry.name)
  if (!pkg) return { ...entry, state: 'unknown', package: null, locked: null, latest: null }
  const [locked, latest] = await Promise.all([findVersion(context, pkg, entry.version), latestVersion(context, pkg)])
  const isBehind = latest !== null && compareParsed(known(entry.version), known(latest.version)) < 0
  return { ...entry, state: isBehind ? 'behind' : locked ? 'current' : 'unknown', package: pkg, locked, latest }
}

const ask = openThreadPool(new URL('./worker.ts', import.meta.url), {
  deadlineMs: 5000,
  idleMs: 10_000,
  memory: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 },
})
const inTurn = createFairLimiter({
  atOnce: 1,
  waiting: 100,
  waitingPerKey: 10,
  maxWaitMs: 10_000,
  rejection: () => serviceUnavailable('Too many files are waiting to be checked. Try again in a moment.', 5),
})

const answer = z.union([
  z.object({ fault: z.string() }),
  z.object({
    hosted: z.array(
      z.object({
        name: z.string(),
        version: z.string(),
        reason: z.enum(reasons),
        hostedUrl: z.string().nullable(),
        sha256: z.string().nullable(),
      }),
    ),
    otherSources: z.number(),
  }),
])

/** Reads the packages of a pubspec.lock in a thread. @throws ApiError InvalidInput, ServiceUnavailable */
export async function readInThread(context: Context, text: string): Promise<LockFile> {
  const work = inTurn(context.viewer?.id ?? fairQueueKey(context.ip), () => ask(text))
  try {
    const read = answer.parse(await (context.budget?.uncounted(work) ?? work))
    if ('fault' in read) throw invalidInput(read.fault, 'lock')
    return read
  } catch (error) {
    if (!(error instanceof ThreadFailed)) throw error
    if (error.wasAtWork) throw invalidInput('The file could not be read in reasonable time. Check that it is a pubspec.lock.', 'lock')
    throw Object.assign(serviceUnavailable('The file could not be read. Try again in a minute.', 60), { cause: error })
  }
}
