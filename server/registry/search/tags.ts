import type { Pubspec } from '../archive/pubspec.ts'
/** The filters for packages: `<filter>:<value>`. */
export const filters = ['publisher', 'uploader', 'topic', 'sdk', 'platform', 'license', 'dependency', 'is'] as const
export type Filter = (typeof filters)[number]

/** A property of a package, such as `sdk:flutter` or `license:mit`. Lower case, without spaces. */
export type Tag = `${Filter}:${string}`

/** The data that tags are derived from: the package's row and its latest version. */
export type Facts = {
  /** Pubspec of the latest version. Only direct dependencies become tags, because these are what users of the package install. */
  pubspec: Pick<Pubspec, 'topics' | 'dependencies' | 'needsFlutter' | 'platforms' | 'pluginPlatforms'>
  publisher: string | null
  uploaderIds: readonly string[]
  license: string | null
  isPublic: boolean
  isUnlisted: boolean
  isDiscontinued: boolean
  hasRetracted: boolean
  /** The tags found by the analysis, filtered by `searchableTags`. */
  analyzed?: readonly string[]
}

/**
 * Returns the tags of a package. SDKs and platforms come from the analysis. Without an analysis, they come from the pubspec: Dart packages also
 * support Flutter, and platforms are the declared ones or else those of the plugin.
 * Source: pub.dev's tags.
 */
export function tagsOf(facts: Facts): Tag[] {
  const { topics, dependencies, needsFlutter, pluginPlatforms } = facts.pubspec
  const found = Map.groupBy(facts.analyzed ?? [], (tag) => tag.slice(0, tag.indexOf(':')))
  const declared = facts.pubspec.platforms.length > 0 ? facts.pubspec.platforms : (pluginPlatforms ?? [])
  const platforms = declared.map((platform) => `platform:${platform}`)
  const sdks = needsFlutter ? ['sdk:flutter'] : ['sdk:dart', 'sdk:flutter']
  const licenses = facts.license && !(facts.license === 'unknown' && found.has('license')) ? [`license:${facts.license}`] : []
  const is = { flutter: needsFlutter, plugin: pluginPlatforms !== null, discontinued: facts.isDiscontinued, retracted: facts.hasRetracted }
  const flags = Object.entries({ ...is, public: facts.isPublic, private: !facts.isPublic, unlisted: facts.isUnlisted })
  const tags = [
    ...(found.get('sdk') ?? sdks),
    ...(found.get('platform') ?? platforms),
    ...(facts.publisher ? [`publisher:${facts.publisher}` as const] : []),
    ...topics.map((topic) => `topic:${topic}` as const),
    ...licenses,
    ...(found.get('license') ?? []),
    ...flags.flatMap(([flag, holds]) => (holds ? [`is:${flag}`] : [])),
    ...(found.get('is') ?? []),
    ...facts.uploaderIds.map((id) => `uploader:${id}` as const),
    ...dependencies.flatMap(({ kind, name }) => (kind === 'direct' ? (`dependency:${name}` as const) : [])),
  ]
  return [...new Set(tags.map((tag) => tag.toLowerCase().replaceAll(/\s/g, '-') as Tag))]
}

/** Values of `is:` that an analysis can determine. */
export const analyzedFlags = ['null-safe', 'dart3-compatible', 'wasm-ready'] as const

/**
 * Returns the tags of a report that search supports. Visibility and ownership never come from a report.
 * Source: pub.dev's tags, without its license tags for organization approval (OSI, FSF).
 */
export const searchableTags = (tags: readonly string[]): string[] =>
  tags.filter((tag) => analyzedTag.test(tag) && !/^license:(?:fsf-libre|osi-approved|unknown)$/.test(tag)).slice(0, 50)

const analyzedTag = new RegExp(String.raw`^(?:(?:sdk|platform|license):[a-z0-9][a-z0-9.+-]{0,39}|is:(?:${analyzedFlags.join('|')}))$`)

/**
 * Encodes a tag as a single index term for both databases. Separators become symbols that do not occur in words, so a tag never collides with a text
 * term, and different separators stay distinct.
 */
export const tagTerm = (tag: string): string => `§${tag.toLowerCase().replaceAll(/[^a-z0-9]/g, (sign) => signs[sign] ?? '¤')}`

/** A term that every document contains. Queries that only exclude terms need it as the positive term. */
export const everyTerm = '§'

/** The term of unlisted packages, which only their administrators find. */
export const unlistedTerm = '§§0'

const signs: Record<string, string> = { ':': '§', '-': '‐', _: '‿', '.': '·', '+': '±' }
