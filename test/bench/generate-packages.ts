import { type Tag, tagsOf } from '../../server/registry/search/tags.ts'
import { common, endings, pieces, starts, subjects, things, verbs } from './vocabulary.ts'

/** Package with the fields that search indexes, without an id. */
export type GeneratedPackage = {
  name: string
  description: string
  topics: string[]
  readme: string
  tags: Tag[]
  createdAt: Date
  updatedAt: Date
}

/**
 * Generates packages similar to those of a public registry: names composed of a few hundred words, descriptions of one sentence, and READMEs of about
 * 2,000 characters with a long tail of rare words. The same seed yields the same packages. Names are unique.
 */
export function* generatePackages(count: number, seed = 1): Generator<GeneratedPackage> {
  const random = randomSource(seed)
  const taken = new Set<string>()
  const start = Date.UTC(2021, 0, 1)
  for (let index = 0; index < count; index++) {
    const subject = often(subjects, random)
    const thing = often(things, random)
    const topics = [subject, thing, often(subjects, random)].slice(0, Math.floor(random() * 4))
    const createdAt = start + Math.floor((index / count) * 5 * 365 * 86_400_000)
    yield {
      name: uniqueName(subject, thing, random, taken),
      description: describe(subject, thing, random),
      topics,
      readme: readme(subject, thing, random),
      tags: tagsFor(topics, index),
      createdAt: new Date(createdAt),
      updatedAt: new Date(createdAt + Math.floor(random() * 200 * 86_400_000)),
    }
  }
}

/** Returns a pseudorandom generator of numbers from 0 to 1 (mulberry32). */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number

/** Picks a word from a list. Frequency decreases with the position in the list, as in natural language. */
const often = (list: readonly string[], random: Random) => list[Math.floor(list.length ** random()) - 1] ?? list[0] ?? ''
const any = (list: readonly string[], random: Random) => list[Math.floor(random() * list.length)] ?? ''

function uniqueName(subject: string, thing: string, random: Random, taken: Set<string>): string {
  for (let length = 2; ; length++) {
    const start = random() < 0.35 ? [often(starts, random)] : []
    const middle = length > 2 ? [length > 4 ? rareWord(random) : any(subjects, random)] : []
    const end = random() < 0.25 ? [often(endings, random)] : []
    const name = [...start, subject, ...middle, ...(random() < 0.7 ? [thing] : []), ...end].join('_').slice(0, 64)
    if (taken.has(name)) continue
    taken.add(name)
    return name
  }
}

function describe(subject: string, thing: string, random: Random): string {
  const framework = random() < 0.55 ? 'Flutter' : 'Dart'
  const tail = random() < 0.5 ? `, with ${words(2 + random() * 4, random)}` : ''
  return `A ${any(common, random)} ${framework} package to ${often(verbs, random)} ${subject} ${thing}s for ${words(2 + random() * 5, random)}${tail}.`
}

function readme(subject: string, thing: string, random: Random): string {
  const sections = ['Features', 'Getting started', 'Usage', 'Additional information'].slice(0, 1 + Math.floor(random() * 4))
  const paragraphs = sections.map((title) => `## ${title}\n\n${paragraph(random)}\n\n* ${paragraph(random)}\n* ${paragraph(random)}`)
  const code = `\`\`\`dart\nimport 'package:${subject}/${thing}.dart';\n\nfinal ${thing} = ${rareWord(random)}(${subject});\n\`\`\``
  return `# ${subject} ${thing}\n\n[![pub](https://example.com/badge.svg)](https://example.com)\n\n${paragraphs.join('\n\n')}\n\n${code}\n`
}

const paragraph = (random: Random) => `${words(10 + random() * 40, random)}.`

function words(count: number, random: Random): string {
  return Array.from({ length: Math.floor(count) }, () => word(random)).join(' ')
}

function word(random: Random): string {
  const kind = random()
  if (kind < 0.45) return often(common, random)
  if (kind < 0.6) return often(verbs, random)
  if (kind < 0.75) return often(things, random)
  return kind < 0.9 ? often(subjects, random) : rareWord(random)
}

/** Returns one of about 100,000 invented words. */
const rareWord = (random: Random) => Array.from({ length: 2 + Math.floor(random() * 2) }, () => any(pieces, random)).join('')

/**
 * Returns tags by index instead of random numbers, so that the generated texts do not depend on them: half of the packages need Flutter, one in fifty
 * belongs to the first publisher, and few are discontinued.
 */
function tagsFor(topics: string[], index: number): Tag[] {
  const needsFlutter = index % 2 === 0
  const dependencies = ['path', 'meta', 'collection', ...subjects.slice(index % 40, (index % 40) + 3)]
  return tagsOf({
    pubspec: {
      topics,
      needsFlutter,
      dependencies: dependencies.map((name) => ({ name, kind: 'direct', constraint: 'any', source: 'hosted', hostedUrl: null, sdk: null })),
      platforms: needsFlutter ? ['android', 'ios', 'web', 'linux', 'macos', 'windows'].slice(0, 1 + (index % 6)) : [],
      pluginPlatforms: index % 10 === 0 ? [] : null,
    },
    publisher: index % 3 === 0 ? `publisher-${Math.floor((index / 3) % 17)}` : null,
    uploaderIds: [`person${index % 500}`],
    license: ['BSD-3-Clause', 'MIT', 'MIT', 'Apache-2.0', 'unknown'][index % 5] ?? null,
    isPublic: index % 4 === 0,
    isUnlisted: false,
    isDiscontinued: index % 40 === 7,
    hasRetracted: index % 100 === 9,
  })
}
