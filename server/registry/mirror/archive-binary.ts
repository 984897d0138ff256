import type { Context } from '../../platform/access/context.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { callerOf } from './limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { archiveUrl, splitArchiveName } from '../../platform/pub/package-name.ts'
import { sendStoredArchive } from '../downloads/send.ts'
import { openMirrored, type PackageState, requireMirror } from './access.ts'
import { type ArrivingArchive, fetchArchive, fetchWholeArchive } from './archives.ts'
import { recordVerdicts, recordRejection } from './decisions.ts'
import { forgetFile, isMissing, recordUse } from './entries.ts'
import { countRead } from './health.ts'
import { findVersion, blockOf, rejectingVerdict } from './render.ts'
import { hasPolicies } from './judged.ts'
import { admittedPackage, currentListing, requireValid, unknown } from './requested.ts'

type Named = { name: string; version: string }

/** Sends an archive of the mirror, after the policies. An archive that is not in the mirror is sent while it is being fetched. */
export async function sendArchive(context: Context): Promise<unknown> {
  requireMirror(context)
  const { archive = '' } = context.request.params as Record<string, string>
  const named = splitArchiveName(archive)
  if (!named) throw unknown(context, archive)
  const { state } = await admittedPackage(context, named.name, named.version)
  await obeyPolicies(context, named, state)
  countRead(context, 'archive', state.archive === null ? 'miss' : 'hit')
  if (state.archive) {
    await recordUse(context, { kind: 'archive', ...named }, state.archive.usedAt)
    const sent = await sendKept(context, named, state.archive)
    if (sent !== missing) return sent
  }
  return sendFetched(context, named, state)
}

/** Checks a version against the policies as they judge it now, and counts the verdicts. @throws ApiError if a policy rejects it. */
export async function obeyPolicies(context: Context, { name, version }: Named, state: PackageState): Promise<void> {
  // Without policies, an archive in the mirror needs no listing. One that is not there is looked up in the listing when it is fetched.
  if (!hasPolicies(context, state.policies)) return
  const { listing } = await currentListing(context, name, state, { isCounted: false })
  const block = blockOf(listing.index, version)
  // Policies cannot judge a version that is no longer in the listing.
  if (!block && (listing.isEnforced || !state.archive)) throw unknown(context, `${name} ${version}`)
  if (!block?.hasVerdicts) return
  const verdicts = (await findVersion(listing, version))?.verdicts ?? []
  if (rejectingVerdict(verdicts)) throw recordRejection(context, name, version, verdicts)
  recordVerdicts(context, name, version, verdicts)
}

const missing = Symbol('missing')
const cacheControl = 'private, immutable, max-age=31536000'

/** Sends an archive from the store. Returns `missing` if it is not there, for example after a restore. */
async function sendKept(context: Context, named: Named, archive: StoredBytes): Promise<unknown> {
  try {
    return await sendStoredArchive(context, archive, {
      cacheControl,
      open: (range, isTaken) => openMirrored(context, archive, range, isTaken),
      count: () => {},
    })
  } catch (error) {
    if (!isMissing(error)) throw error
    context.log.warning(
      `mirror: the archive of ${named.name} ${named.version} is not in the store and will be fetched again: ${String(error)}`,
    )
    await forgetFile(context, { kind: 'archive', ...named }, archive.sha256)
    return missing
  }
}

async function sendFetched(context: Context, { name, version }: Named, state: PackageState): Promise<unknown> {
  const { request, reply } = context
  const { listing } = await currentListing(context, name, state, { isCounted: false })
  const found = await findVersion(listing, version)
  if (!found) throw unknown(context, `${name} ${version}`)
  const wanted = { ...found, name, caller: callerOf(context) }
  const isPlain = request.method === 'GET' && request.headers.range === undefined && request.headers['if-none-match'] === undefined
  const fetched = await (isPlain ? fetchArchive(context, wanted) : fetchWholeArchive(context, wanted))
  if ('done' in fetched) return sendArriving(context, fetched, found.sha256)
  return sendStoredArchive(context, fetched, {
    cacheControl,
    open: (range, isTaken) => openMirrored(context, fetched, range, isTaken),
    count: () => {},
  })

  function sendArriving({ reply: answer }: Context, { body, length }: ArrivingArchive, sha256: string | null): unknown {
    if (sha256 !== null) answer.header('etag', `"${sha256}"`)
    if (length !== null) answer.header('content-length', length)
    reply.header('cache-control', cacheControl).header('vary', 'authorization, cookie').type('application/gzip')
    return answer.send(body)
  }
}

/** Redirects from an older URL of an archive. */
export async function redirectToArchive(context: Context): Promise<unknown> {
  const { request, reply, config } = context
  const { name = '', version = '' } = request.params as Record<string, string>
  requireMirror(context)
  requireValid(context, name, version)
  // Others are redirected from all names, so that they do not learn which ones exist here.
  if (context.viewer) await admittedPackage(context, name, version)
  return reply.redirect(archiveUrl(`${publicUrl(request, config.SERVER_URL)}/mirror`, name, version), 303)
}
