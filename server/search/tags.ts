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
}

/**
 * The tags of a package. What runs in Dart runs in Flutter, too; platforms are those that its pubspec declares, else those of a
 * plugin, for nothing is analyzed.
 * Source: pub.dev's tags.
 */
export function tagsOf(facts: Facts): Tag[] {
  const { topics, dependencies, needsFlutter, pluginPlatforms } = facts.pubspec
  const platforms = facts.pubspec.platforms.length > 0 ? facts.pubspec.platforms : (pluginPlatforms ?? [])
  const is = { flutter: needsFlutter, plugin: pluginPlatforms !== null, discontinued: facts.isDiscontinued, retracted: facts.hasRetracted }
  const flags = Object.entries({ ...is, public: facts.isPublic, private: !facts.isPublic, unlisted: facts.isUnlisted })
  const tags: Tag[] = [
    ...(needsFlutter ? (['sdk:flutter'] as const) : (['sdk:dart', 'sdk:flutter'] as const)),
    ...platforms.map((platform) => `platform:${platform}` as const),
    ...(facts.publisher ? [`publisher:${facts.publisher}` as const] : []),
    ...topics.map((topic) => `topic:${topic}` as const),
    ...(facts.license ? [`license:${facts.license}` as const] : []),
    ...flags.flatMap(([flag, holds]) => (holds ? [`is:${flag}` as const] : [])),
    ...facts.uploaderIds.map((id) => `uploader:${id}` as const),
    ...dependencies.flatMap(({ kind, name }) => (kind === 'direct' ? (`dependency:${name}` as const) : [])),
  ]
  return [...new Set(tags.map((tag) => tag.toLowerCase().replaceAll(/\s/g, '-') as Tag))]
}

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
