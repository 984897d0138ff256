import type { Pubspec } from '../archive/pubspec.ts'
/** What packages can be filtered by: `<filter>:<value>`. */
export const filters = ['publisher', 'uploader', 'topic', 'sdk', 'platform', 'license', 'dependency', 'is'] as const
export type Filter = (typeof filters)[number]

/** A property of a package, such as `sdk:flutter` or `license:mit`: lower case, without blanks. */
export type Tag = `${Filter}:${string}`

/** What a package's tags are made of: its row, and its latest version. */
export type Facts = {
  /** What its latest version says. Dependencies are what its users get along with it. */
  pubspec: Pick<Pubspec, 'topics' | 'dependencies' | 'needsFlutter' | 'platforms' | 'pluginPlatforms'>
  publisher: string | null
  uploaderIds: readonly string[]
  license: string | null
  isPublic: boolean
  isUnlisted: boolean
  isDiscontinued: boolean
  hasRetracted: boolean
  /** The tags that its analysis found, as `searchableTags` gives them. */
  analyzed?: readonly string[]
}

/**
 * The tags of a package. SDKs and platforms are those that its analysis found. Before that, what runs in Dart runs in Flutter, too, and platforms
 * are those that its pubspec declares, else those of a plugin.
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

/** What an analysis may find a package to be, as `is:` says it. */
export const analyzedFlags = ['null-safe', 'dart3-compatible', 'wasm-ready'] as const

/**
 * The tags of a report that searches know. Who may see a package, and whose it is, no report says.
 * Source: pub.dev's tags; those of licenses also say what organizations think of them.
 */
export const searchableTags = (tags: readonly string[]): string[] =>
  tags.filter((tag) => analyzedTag.test(tag) && !/^license:(?:fsf-libre|osi-approved|unknown)$/.test(tag)).slice(0, 50)

const analyzedTag = new RegExp(String.raw`^(?:(?:sdk|platform|license):[a-z0-9][a-z0-9.+-]{0,39}|is:(?:${analyzedFlags.join('|')}))$`)

/**
 * A tag as a term of the index: one word for either database, which no text has, since signs are no part of words. What tags are made of
 * keeps apart.
 */
export const tagTerm = (tag: string): string => `§${tag.toLowerCase().replaceAll(/[^a-z0-9]/g, (sign) => signs[sign] ?? '¤')}`

/** Every document has this term, so that there is something to take others away from. */
export const everyTerm = '§'

/** The term of packages that only those find who administer them. */
export const unlistedTerm = '§§0'

const signs: Record<string, string> = { ':': '§', '-': '‐', _: '‿', '.': '·', '+': '±' }
