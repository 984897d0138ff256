import { ApiError } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import type { Config } from '../../../platform/config/config.ts'
import { normalHostedUrl } from '../../../platform/pub/hosted-url.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import type { Osv } from '../../advisories/osv.ts'
import { describePubspec, type Pubspec } from '../../archive/pubspec.ts'
import type { JsonObject } from '../../archive/yaml.ts'
import type { Registries } from '../../packages/dependents/service.ts'
import { latestOf } from '../../packages/versions/latest.ts'
import { isExcluded, packageState, requireMirror } from '../access.ts'
import { storedText } from '../documents.ts'
import type { MirroredListing, MirroredVersion } from '../listing.ts'
import type { Verdict } from '../policies/evaluate.ts'
import { advisoriesOf, tagsOf, usableVersions } from '../render.ts'
import { currentListing } from '../requested.ts'

/** A package of the upstream server with what the policies say about its versions. */
export type UpstreamPackage = {
  listing: MirroredListing
  /** By version; versions without verdicts are missing. */
  verdicts: ReadonlyMap<string, readonly Verdict[]>
  /** The latest version that the policies allow; null if they allow none. */
  latest: MirroredVersion | null
  /** Pubspec of the latest version, or of the highest version if the policies allow none. */
  pubspec: Pubspec
  /** When the listing was last compared with the upstream server, if that is due and fails; otherwise null. */
  staleSince: Date | null
}

/**
 * Returns a package of the upstream server, from the mirror or after fetching its listing. Returns null without a mirror, for names that are never
 * taken from upstream, and for unknown ones.
 * @throws ApiError if the caller may not read the mirror; ServiceUnavailable if the package is not in the mirror and the upstream server does not answer.
 */
export async function findUpstreamPackage(context: Context, name: string): Promise<UpstreamPackage | null> {
  if (context.config.UPSTREAM_URL === undefined) return null
  requireMirror(context)
  if (!isUpstreamName(name)) return null
  const state = await packageState(context, name)
  if (state.isOwn || isExcluded(context.config, name)) return null
  const current = await orNull(withoutBudget(context, () => currentListing(context, name, state)))
  const text = current && (await storedText(context, current.listing.sha256))
  return current && text !== null ? describe(JSON.parse(text) as MirroredListing, current) : null
}

type Current = Awaited<ReturnType<typeof currentListing>>

function describe(listing: MirroredListing, { listing: { verdicts }, staleSince }: Current): UpstreamPackage | null {
  const latest = latestOf(usableVersions(listing, verdicts))
  const shown = latest ?? latestOf(listing.versions)
  return shown && { listing, verdicts, latest, staleSince, pubspec: describePubspec(shown.pubspec as JsonObject) }
}

/** Returns null if there is no such package. */
async function orNull<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** Maximum number of advisories of a package. */
const maxAdvisories = 50

/** Returns the advisories that are not withdrawn; null if they are not in the mirror and the upstream server does not answer. */
export async function upstreamAdvisories(context: Context, { listing }: UpstreamPackage): Promise<Osv[] | null> {
  if (listing.advisoriesUpdated === null) return []
  try {
    const advisories = await withoutBudget(context, () => advisoriesOf(context, listing))
    return advisories.filter(({ withdrawn }) => withdrawn === undefined).slice(0, maxAdvisories)
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return null
    throw error
  }
}

/** Tags that describe licenses rather than name them. */
const licenseKinds = ['license:fsf-libre', 'license:osi-approved', 'license:unknown']

/** What the upstream server states about the latest version: licenses as SPDX identifiers in lower case, and the publisher. */
export type UpstreamTags = { tags: string[]; licenses: string[]; publisher: string | null }

/** Returns the tags of a package. They are read once per package and request. Unreadable tags count as none. */
export function upstreamTags(context: Context, pkg: UpstreamPackage): Promise<UpstreamTags> {
  let tags = known.get(pkg)
  if (!tags) known.set(pkg, (tags = withoutBudget(context, () => readTags(context, pkg.listing.name))))
  return tags
}
const known = new WeakMap<UpstreamPackage, Promise<UpstreamTags>>()

/** Maximum number of tags, and their length. pub.dev has a few dozen. */
const [maxTags, maxTag] = [100, 100]

async function readTags(context: Context, name: string): Promise<UpstreamTags> {
  const tags = ((await tagsOf(context, name)) ?? []).filter(({ length }) => length <= maxTag).slice(0, maxTags)
  const valuesOf = (prefix: string) => tags.flatMap((tag) => (tag.startsWith(prefix) ? [tag.slice(prefix.length)] : []))
  return {
    tags,
    licenses: tags.filter((tag) => tag.startsWith('license:') && !licenseKinds.includes(tag)).map((tag) => tag.slice('license:'.length)),
    publisher: valuesOf('publisher:')[0] ?? null,
  }
}

/** The registries of an upstream package: the upstream server itself and the mirror. Dependencies on it can also name no registry. */
export const upstreamRegistries = ({ SERVER_URL, UPSTREAM_URL }: Pick<Config, 'SERVER_URL' | 'UPSTREAM_URL'>): Registries => ({
  sql: "('', ?, ?)",
  values: [`${SERVER_URL}/mirror`, UPSTREAM_URL ?? ''].map((url) => normalHostedUrl(url) ?? url),
})
