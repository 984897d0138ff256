import { callerOf } from '../limits.ts'
import { expressionBuilder } from 'kysely'
import { z } from 'zod'
import { ApiError } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import type { Config } from '../../../platform/config/config.ts'
import type { Tables } from '../../../platform/db/query.ts'
import { normalHostedUrl } from '../../../platform/pub/hosted-url.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import { severities } from '../../advisories/severity.ts'
import { describePubspec, type Pubspec } from '../../archive/pubspec.ts'
import type { JsonObject } from '../../archive/yaml.ts'
import type { Registries } from '../../packages/dependents/service.ts'
import { isOwnName, requireMirror } from '../access.ts'
import { NotFetched } from '../../../platform/outbound/request.ts'
import { type Document, readDocument } from '../documents.ts'
import { findVersion, type JudgedVersion, readBlock, versionsIn } from '../render.ts'
import { advisoriesDate, type Judged } from '../judged.ts'
import { admittedPackage, currentListing } from '../requested.ts'
import { inThread } from '../threads.ts'

/** A package of the upstream server after the policies. */
export type UpstreamPackage = {
  listing: Judged
  /** The latest version that the policies allow, as the upstream server states it; null if they allow none. */
  latest: JudgedVersion | null
  /** The latest version on the upstream server. */
  newest: JudgedVersion
  /** Pubspec of the latest version, or of the newest if the policies allow none. */
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
  if (context.viewer && (await isOwnName(context, name))) return null
  const current = await orNull(withoutBudget(context, () => admittedListing(context, name)))
  if (!current) return null
  const { listing, staleSince } = current
  const newest = await findVersion(listing, listing.newest ?? '')
  if (!newest) return null
  const latest = listing.latest === null ? null : await findVersion(listing, listing.latest)
  return { listing, latest, newest, staleSince, pubspec: describePubspec((latest ?? newest).pubspec as JsonObject) }
}

async function admittedListing(context: Context, name: string) {
  const { state } = await admittedPackage(context, name)
  return currentListing(context, name, state)
}

/** Returns versions, highest first: after `after`, or the first ones. */
export async function listVersions({ listing }: UpstreamPackage, { after, skipped, limit }: Page): Promise<JudgedVersion[]> {
  const all = versionsIn(listing.index).toReversed()
  const start = (after === undefined ? 0 : all.findIndex(({ version }) => version === after) + 1) + skipped
  const page = all.slice(start, start + limit)
  const blocks = await Promise.all([...new Set(page.map(({ block }) => block))].map((block) => readBlock(listing, block)))
  const found = new Map(blocks.flat().map((one) => [one.version, one]))
  return page.flatMap(({ version }) => found.get(version) ?? [])
}
type Page = { after: string | undefined; skipped: number; limit: number }

export const countVersions = ({ listing }: UpstreamPackage): number => versionsIn(listing.index).length

/** Returns null if there is no such package. */
async function orNull<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

const described = z.array(
  z.object({
    osvId: z.string(),
    summary: z.string().nullable(),
    severity: z.enum(severities).nullable(),
    url: z.string().nullable(),
    affectsLatest: z.boolean(),
    affectedVersions: z.array(z.string()),
    fixedVersions: z.array(z.string()),
  }),
)
export type UpstreamAdvisory = z.infer<typeof described>[number]

/** Returns the advisories that are not withdrawn; null if none can be read, or if they are not in the mirror and the upstream server does not answer. */
export async function upstreamAdvisories(context: Context, { listing, latest }: UpstreamPackage): Promise<UpstreamAdvisory[] | null> {
  const { name, isAdvised } = listing
  if (!isAdvised) return []
  try {
    return await withoutBudget(context, async () => {
      const newerThan = advisoriesDate(context, listing)
      const document = await readDocument(context, 'advisories', name, { newerThan, caller: callerOf(context), isFact: true })
      return document ? describe(context, document, { name, latest: latest?.version ?? null, listing }) : []
    })
  } catch (error) {
    if (error instanceof NotFetched || (error instanceof ApiError && error.status === 503)) return null
    throw error
  }
}

type About = { name: string; latest: string | null; listing: Judged }

/** Describes advisories in a thread, once for the same document and listing. */
async function describe(context: Context, document: Document, { name, latest, listing }: About): Promise<UpstreamAdvisory[]> {
  const { texts } = context.caches
  const key = `advisories:${document.sha256}:${listing.inputs.sha256}:${latest}`
  const known = texts.get(key)
  if (known !== undefined) return described.parse(JSON.parse(known))
  const versions = versionsIn(listing.index).map(({ version }) => version)
  const task = { task: 'advisories', name, advisories: document.packed, versions, latest } as const
  const advisories = await inThread(context, callerOf(context), described, task)
  texts.set(key, JSON.stringify(advisories))
  return advisories
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
  const document = await readDocument(context, 'score', name, { caller: callerOf(context), isFact: true }).catch(() => null)
  const sent = document && (await inThread(context, callerOf(context), z.array(z.string()), { task: 'tags', score: document.packed }))
  const tags = (sent ?? []).filter(({ length }) => length <= maxTag).slice(0, maxTags)
  const valuesOf = (prefix: string) => tags.flatMap((tag) => (tag.startsWith(prefix) ? [tag.slice(prefix.length)] : []))
  return {
    tags,
    licenses: tags.filter((tag) => tag.startsWith('license:') && !licenseKinds.includes(tag)).map((tag) => tag.slice('license:'.length)),
    publisher: valuesOf('publisher:')[0] ?? null,
  }
}

/** The registries of an upstream package: the upstream server itself and the mirror. Dependencies on it can also name no registry. */
export function upstreamRegistries({ SERVER_URL, UPSTREAM_URL }: Pick<Config, 'SERVER_URL' | 'UPSTREAM_URL'>): Registries {
  const addresses = [`${SERVER_URL}/mirror`, UPSTREAM_URL ?? ''].map((url) => normalHostedUrl(url) ?? url)
  return (source) => expressionBuilder<Tables>()(source, 'in', ['', ...addresses])
}
