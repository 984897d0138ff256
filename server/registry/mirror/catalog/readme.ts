import { setTimeout as wait } from 'node:timers/promises'
import { ApiError, serviceUnavailable } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import { holdsScope } from '../../../platform/access/policy.ts'
import type { StoredBytes } from '../../../platform/blobs/store.ts'
import { createFairLimiter, type FairLimiter } from '../../../platform/threads/fair-limiter.ts'
import { documentRank, decodeText } from '../../archive/documents.ts'
import { eachFile } from '../../archive/read.ts'
import { imageSettings } from '../../markdown/images.ts'
import { repositoryOf } from '../../markdown/links.ts'
import { renderText } from '../../markdown/service.ts'
import { fetchWholeArchive, openMirrored } from '../archives.ts'
import type { MirroredVersion } from '../listing.ts'
import { packageState } from '../access.ts'
import { callerOf, upstreamTurns, withinLimits } from '../limits.ts'
import { pausedError, UpstreamPaused } from '../health.ts'
import { requestArchive, timesOf } from '../upstream.ts'
import type { UpstreamPackage } from './package.ts'

/** A README as it is in the archive. */
type Readme = { path: string; text: string }

/** Largest archive in bytes that is fetched to show its README. */
const maxFetched = 20 * 1024 ** 2
const maxReadme = 256 * 1024
/** How long a page waits for an archive, in milliseconds. The fetch goes on afterwards. */
const patienceMs = 20_000

declare module '../../../services.ts' {
  interface State {
    readmeTurns?: FairLimiter
  }
}

/** Reads the README of one archive at a time, because that unpacks the whole archive. */
const turnsOf = ({ state }: Context): FairLimiter => (state.readmeTurns ??= createFairLimiter({ atOnce: 1, waiting: 64, waitingPerKey: 8 }))

/**
 * Returns the README of the latest version as sanitized HTML. If the policies allow no version, administrators get that of the newest one, to judge
 * the refusal. Returns null if there is no README, or if the archive is not in the mirror and too large to be fetched for this.
 * @throws ApiError ServiceUnavailable if the archive cannot be fetched in time.
 */
export async function readmeOf(context: Context, { listing: { name }, latest, newest, pubspec }: UpstreamPackage): Promise<string | null> {
  const version = latest ?? (holdsScope(context, 'admin') ? newest : null)
  if (!version) return null
  const archive = await withoutBudget(context, () => archiveOf(context, name, version))
  if (!archive) return null
  const readme = await withoutBudget(context, () => readmeIn(context, archive))
  if (!readme) return null
  const links = {
    kind: 'repository',
    path: readme.path,
    repository: repositoryOf(pubspec),
    images: imageSettings(context),
  } as const
  return renderText(context, { source: readme.text, links })
}

async function archiveOf(context: Context, name: string, version: MirroredVersion): Promise<StoredBytes | null> {
  const { archive } = await packageState(context, name, version.version)
  if (archive) return archive
  if (!(await isSmall(context, version.archiveUrl))) return null
  const fetched = fetchWholeArchive(context, { ...version, name, caller: callerOf(context) })
  fetched.catch(() => {})
  const late = wait(patienceMs, null, { ref: false })
  const done = await Promise.race([fetched, late])
  if (!done) throw serviceUnavailable(`The archive of ${name} ${version.version} is still being fetched. Try again in a moment.`, 10)
  return done
}

/** Whether the upstream server states a size of an archive that is small enough. */
async function isSmall(context: Context, url: string): Promise<boolean> {
  const caller = callerOf(context)
  const ask = () =>
    requestArchive(context, { url, ms: timesOf(context).documentMs }, async ({ statusCode, headers }) => {
      return statusCode === 200 && Number(headers['content-length']) <= maxFetched
    })
  try {
    return await upstreamTurns(context).documents(caller, () => withinLimits(context, caller, ask))
  } catch (error) {
    if (error instanceof UpstreamPaused) throw pausedError(context, error)
    if (error instanceof ApiError) throw error
    throw serviceUnavailable(`${context.config.UPSTREAM_URL} did not send the archive (${String(error)}). Try again in a moment.`, 10)
  }
}

/** Returns the README of an archive, which is cached by its content. */
async function readmeIn(context: Context, archive: StoredBytes): Promise<Readme | null> {
  const { texts } = context.caches
  const key = `readme:${archive.sha256}`
  const known = texts.get(key)
  if (known !== undefined) return JSON.parse(known) as Readme | null
  const readme = await turnsOf(context)(callerOf(context), () => extract(context, archive))
  texts.set(key, JSON.stringify(readme))
  return readme
}

/** Returns the README; null without one, and for an invalid archive. */
async function extract(context: Context, archive: StoredBytes): Promise<Readme | null> {
  let found: { path: string; rank: number; chunks: Buffer[] } | null = null
  try {
    await eachFile(await openMirrored(context, archive, undefined, () => false), {}, ({ path }) => {
      const rank = documentRank('readme', path)
      if (rank === null || (found && rank >= found.rank)) return undefined
      const chunks: Buffer[] = []
      found = { path, rank, chunks }
      return keeper(chunks)
    })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    context.log.warning(`mirror: an archive of the upstream server cannot be read: ${error.message}`)
    return null
  }
  const kept = found as { path: string; chunks: Buffer[] } | null
  return kept && { path: kept.path, text: decodeText(Buffer.concat(kept.chunks), maxReadme) }
}

/** Copies chunks up to the limit plus a few bytes, so that the text can be truncated at a character boundary. */
function keeper(chunks: Buffer[]) {
  let left = maxReadme + 4
  return (chunk: Uint8Array) => {
    if (left > 0) chunks.push(Buffer.from(chunk.subarray(0, left)))
    left -= chunk.length
  }
}
