import { insufficientPermissions, notFound } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import { isExcluded, ownNameError, packageState, type PackageState, requireMirror } from './access.ts'
import { documentState, readDocument } from './documents.ts'
import { countRead, recordUse } from './entries.ts'
import { countDecision } from './decisions.ts'
import type { Verdict } from './policies/evaluate.ts'
import { refusalOf, type Rendered, rendered } from './render.ts'

/** The caller, for turns at the upstream server. */
export const callerOf = ({ viewer, ip }: Context) => viewer?.id ?? ip

/** Returns the package name of the path, if the caller may read it from the mirror. @throws ApiError */
export async function requestedPackage(context: Context, version?: string): Promise<{ name: string; state: PackageState }> {
  requireMirror(context)
  const { name = '' } = context.request.params as Record<string, string>
  return admittedPackage(context, name, version)
}

/** Checks that a name may be read from the mirror, and reads its state. @throws ApiError NotFound, InsufficientPermissions */
export async function admittedPackage(context: Context, name: string, version?: string): Promise<{ name: string; state: PackageState }> {
  if (!isUpstreamName(name)) throw unknown(context, name)
  if (version !== undefined && !parseVersion(version)) throw unknown(context, `${name} ${version}`)
  const state = await packageState(context, name, version)
  if (state.isOwn || isExcluded(context.config, name)) throw ownNameError(context, name, state.isOwn)
  return { name, state }
}

export const unknown = ({ config }: Context, what: string) =>
  notFound(`There is no package ${what.slice(0, 160)} on ${config.UPSTREAM_URL}.`)

/** Returns the listing of a package after the policies, compared with the upstream server if that is due. @throws ApiError */
export async function currentListing(
  context: Context,
  name: string,
  state: PackageState,
): Promise<{ listing: Rendered; staleSince: Date | null }> {
  const { config, now } = context
  const isCurrent =
    state.sha256 !== null && state.checkedAt !== null && now().getTime() - state.checkedAt.getTime() < config.UPSTREAM_TTL * 1000
  if (isCurrent) countRead(context, 'listing', 'hit')
  if (isCurrent && state.usedAt) await recordUse(context, { kind: 'listing', name }, state.usedAt)
  const found = isCurrent ? null : await documentState(context, 'listing', name, { caller: callerOf(context) })
  if (!isCurrent && !found) throw unknown(context, name)
  const asked = { name, policies: state.policies, serverUrl: publicUrl(context.request, config.SERVER_URL) }
  const sha256 = found?.sha256 ?? state.sha256 ?? ''
  const staleSince = found?.isStale ? found.checkedAt : null
  const listing = await rendered(context, { ...asked, sha256 })
  if (listing) return { listing, staleSince }
  // The file is gone from the store: fetch it again.
  const again = await readDocument(context, 'listing', name, { caller: callerOf(context) })
  const renewed = again && (await rendered(context, { ...asked, sha256: again.sha256 }))
  if (!renewed) throw unknown(context, name)
  return { listing: renewed, staleSince: again.isStale ? again.checkedAt : null }
}

/** Returns the stored listing after the policies, without comparing it with the upstream server; null if it is not in the mirror. */
export const storedListing = (context: Context, name: string, { sha256, policies }: PackageState): Promise<Rendered | null> | null =>
  sha256 === null ? null : rendered(context, { name, sha256, policies, serverUrl: publicUrl(context.request, context.config.SERVER_URL) })

/** Counts the verdicts on a request. Enforced ones that only mark a version as retracted do not refuse it and are not counted. */
export function recordVerdicts(context: Context, packageName: string, version: string, verdicts: readonly Verdict[]): void {
  const userId = context.viewer?.id ?? null
  for (const { rule, mode, effect, reason } of verdicts) {
    if (mode === 'enforce' && effect === 'retract') continue
    countDecision(context, { outcome: mode === 'enforce' ? 'refused' : 'audited', rule, packageName, version, reason, userId })
  }
}

/** Counts the verdicts on a request and returns the error if one of them is an enforced refusal of this version or package. */
export function refuse(context: Context, name: string, version: string, { refusal, verdicts }: Rendered) {
  const enforced = refusalOf(verdicts.get(version)) ?? refusal
  recordVerdicts(context, name, version, verdicts.get(version) ?? (refusal ? [refusal] : []))
  return insufficientPermissions(enforced?.reason ?? `A policy of this server does not allow ${name}.`)
}
