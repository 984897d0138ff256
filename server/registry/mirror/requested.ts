import { callerOf } from './limits.ts'
import { ApiError, notFound, reworded } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import { admittedState, decoyName, isOwnName, packageState, type PackageState, requireMirror } from './access.ts'
import { recordVerdicts, recordRejection } from './decisions.ts'
import { type DocumentKind, documentState, isOlder, readDocument } from './documents.ts'
import { keyOf, mirrorFiles } from './entries.ts'
import { countRead } from './health.ts'
import { hasPolicies, type Judged, judgedListing } from './judged.ts'
import { blockOf, findVersion, type JudgedVersion, rejectingVerdict } from './render.ts'

/** Returns the package name of the path, if the caller may read it from the mirror. `kind`: the document that is requested. @throws ApiError */
export async function requestedPackage(
  context: Context,
  version?: string,
  kind?: DocumentKind,
): Promise<{ name: string; state: PackageState }> {
  requireMirror(context)
  const { name = '' } = context.request.params as Record<string, string>
  return admittedPackage(context, name, version, kind)
}

/** Returns the listing of the package of the path after the policies, and its state. @throws ApiError */
export async function requestedListing(context: Context, version?: string, options?: { isCounted: boolean }) {
  const { name, state } = await requestedPackage(context, version)
  return { name, state, ...(await currentListing(context, name, state, options)) }
}

/** Checks that a name may be read from the mirror, and reads its state. @throws ApiError NotFound, InsufficientPermissions */
export async function admittedPackage(
  context: Context,
  name: string,
  version?: string,
  kind?: DocumentKind,
): Promise<{ name: string; state: PackageState }> {
  requireValid(context, name, version)
  if (!context.viewer) return admitStranger(context, name, version, kind)
  return { name, state: await admittedState(context, name, version) }
}

/** @throws ApiError NotFound for names and versions that no package can have. */
export function requireValid(context: Context, name: string, version: string | undefined): void {
  if (!isUpstreamName(name)) throw unknown(context, name)
  if (version !== undefined && !parseVersion(version)) throw unknown(context, `${name} ${version}`)
}

/**
 * Admits callers who are not signed in. They get the same response after the same work for own and for unknown names: in place of an own name, a decoy is
 * requested. @throws ApiError
 */
async function admitStranger(context: Context, name: string, version?: string, kind: DocumentKind = 'listing') {
  const isOwn = await isOwnName(context, name)
  const decoy = decoyName(context, name)
  const asked = isOwn ? decoy : name
  if (asked === null) throw unknown(context, name)
  try {
    const state = await packageState(context, asked, version)
    if (!isOwn && (state.sha256 !== null || state.archive !== null)) return { name, state }
    if (kind === 'listing') await currentListing(context, asked, state)
    else await readDocument(context, kind, asked, { newerThan: newerThan(kind, state), caller: callerOf(context) })
    if (!isOwn) return { name, state: await packageState(context, name, version) }
  } catch (error) {
    throw error instanceof ApiError ? reworded(error, error.message.replaceAll(asked, name)) : error
  }
  throw unknown(context, name)
}

/** Advisories must be at least as new as the listing, because clients compare the dates. */
export const newerThan = (kind: DocumentKind, { checkedAt }: PackageState): Date | undefined =>
  kind === 'advisories' ? (checkedAt ?? undefined) : undefined

export const unknown = ({ config }: Context, what: string) =>
  notFound(`There is no package ${what.slice(0, 160)} on ${config.UPSTREAM_URL}.`)

/**
 * Returns the listing of a package after the policies. The listing, and the documents on which policies depend, are compared with the upstream server if
 * that is due. `isCounted`: whether this is a read of the listing itself.
 * @throws ApiError
 */
export async function currentListing(
  context: Context,
  name: string,
  state: PackageState,
  { isCounted = true } = {},
): Promise<{ listing: Judged; staleSince: Date | null }> {
  const isCurrent = state.sha256 !== null && state.checkedAt !== null && !isOlder(context, 'listing', state)
  if (isCurrent && isCounted) countRead(context, 'listing', 'hit')
  if (isCurrent && state.usedAt) await mirrorFiles.recordUse(context, keyOf({ kind: 'listing', name }), state.usedAt)
  const found = isCurrent ? null : await documentState(context, 'listing', name, { caller: callerOf(context) })
  if (!isCurrent && !found) throw unknown(context, name)
  const sha256 = found?.sha256 ?? state.sha256 ?? ''
  const listing = await judgedListing(context, name, sha256, state)
  if (listing) return { listing, staleSince: found?.isStale ? found.checkedAt : null }
  // The file is gone from the store: fetch it again.
  const again = await readDocument(context, 'listing', name, { caller: callerOf(context) })
  const renewed = again && (await judgedListing(context, name, again.sha256, state))
  if (!renewed) throw unknown(context, name)
  return { listing: renewed, staleSince: again.isStale ? again.checkedAt : null }
}

type Named = { name: string; version: string }

/**
 * Checks a version against the policies as they judge it now. Returns the state of its package, and the version in the listing if the mirror does not
 * have its archive.
 * @throws ApiError also if a policy refuses the version.
 */
export async function requestedArchive(context: Context, named: Named): Promise<{ state: PackageState; listed: JudgedVersion | null }> {
  const { state } = await admittedPackage(context, named.name, named.version)
  const isKept = state.archive !== null
  // Without policies, an archive in the mirror needs no listing.
  if (hasPolicies(context, state.policies)) {
    const { listing } = await currentListing(context, named.name, state, { isCounted: false })
    await obeyPolicies(context, named, listing, isKept)
  }
  countRead(context, 'archive', isKept ? 'hit' : 'miss')
  return { state, listed: isKept ? null : await listedVersion(context, named, state) }
}

/** Returns a version in the current listing. @throws ApiError */
export async function listedVersion(context: Context, { name, version }: Named, state: PackageState): Promise<JudgedVersion> {
  const { listing } = await currentListing(context, name, state, { isCounted: false })
  const found = await findVersion(listing, version)
  if (!found) throw unknown(context, `${name} ${version}`)
  return found
}

/** Counts what the policies say about a version. `isKept`: whether the mirror has its archive. @throws ApiError if a policy refuses the version. */
export async function obeyPolicies(context: Context, { name, version }: Named, listing: Judged, isKept: boolean): Promise<void> {
  const block = blockOf(listing.index, version)
  // Policies cannot judge a version that is no longer in the listing.
  if (!block && (listing.isEnforced || !isKept)) throw unknown(context, `${name} ${version}`)
  if (!block?.hasVerdicts) return
  const verdicts = (await findVersion(listing, version))?.verdicts ?? []
  if (rejectingVerdict(verdicts)) throw recordRejection(context, name, version, verdicts)
  recordVerdicts(context, name, version, verdicts)
}
