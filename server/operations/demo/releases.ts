import type { DemoPackage } from './catalog.ts'
import { createRandom, type Random, seedOf } from './random.ts'

/** A class of a package's API: its name, and its methods in the order in which they were added. */
export type DemoType = { name: string; methods: string[] }

/** A version of a package. `changes` are the lines of its changelog. `dependencies` are the versions of the dependencies at that time. */
export type Release = {
  pkg: DemoPackage
  version: string
  at: Date
  changes: string[]
  api: DemoType[]
  dependencies: Record<string, string>
  isRetracted: boolean
}

const dayMs = 86_400_000
/** Number of days that the releases cover. */
const days = 365

/** Plans the releases of all packages in the year before `end`, the oldest first. The same `end` gives the same plan. */
export function planReleases(packages: readonly DemoPackage[], end: Date): Release[] {
  const all: Release[] = []
  for (const pkg of packages) all.push(...releasesOf(pkg, end, all))
  return all.toSorted((a, b) => a.at.getTime() - b.at.getTime())
}

function releasesOf(pkg: DemoPackage, end: Date, known: readonly Release[]): Release[] {
  const random = createRandom(seedOf(pkg.name))
  const bases = pkg.dependencies.map((name) => known.find((release) => release.pkg.name === name))
  const earliest = Math.max(end.getTime() - days * dayMs, ...bases.map((base) => (base?.at.getTime() ?? 0) + dayMs))
  const count = Math.max(2, Math.round(random.between(3, 9) * (0.5 + pkg.weight / 90)))
  const first = earliest + random.next() * Math.min(60 * dayMs, (end.getTime() - earliest) / 3)
  const times = Array.from({ length: count - 1 }, () => first + random.next() * (end.getTime() - dayMs - first)).toSorted((a, b) => a - b)
  let state: State = { version: random.next() < 0.5 ? [0, 1, 0] : [1, 0, 0], api: firstApi(pkg, random) }
  const releases = [release(pkg, state, new Date(first), ['Initial release.'], known)]
  for (const time of times) {
    const { changes, ...next } = nextState(state, random)
    const at = new Date(time)
    // A pre-release precedes half of the major versions by two days.
    if (next.version[0] !== state.version[0] && random.next() < 0.5) {
      const previewAt = Math.max(time - 2 * dayMs, (releases.at(-1)?.at ?? at).getTime() + 60_000)
      const preview = release(pkg, next, new Date(Math.min(previewAt, time)), ['Preview of the next major version.'], known)
      releases.push({ ...preview, version: `${preview.version}-beta.1` })
    }
    releases.push(release(pkg, next, at, changes, known))
    state = next
  }
  const isOld = pkg.weight > 80 && releases.length > 4
  return releases.map((one, index) => ({ ...one, isRetracted: isOld && index === releases.length - 3 }))
}

type State = { version: [number, number, number]; api: DemoType[] }

function release(pkg: DemoPackage, { version, api }: State, at: Date, changes: string[], known: readonly Release[]): Release {
  const dependencies = Object.fromEntries(pkg.dependencies.map((name) => [name, latestAt(known, name, at)]))
  return { pkg, version: version.join('.'), at, changes, api, dependencies, isRetracted: false }
}

/** Returns the latest stable version of a package that was published before `at`. */
function latestAt(known: readonly Release[], name: string, at: Date): string {
  const earlier = known.filter(({ pkg, at: published, version }) => pkg.name === name && published < at && !version.includes('-'))
  return earlier.at(-1)?.version ?? '1.0.0'
}

const verbs =
  'open close load save reset update validate describe merge copyWith compare attach detach refresh resolve schedule cancel retry encode decode format parse listen dispose apply preview'.split(
    ' ',
  )

const firstApi = ({ types }: DemoPackage, random: Random): DemoType[] =>
  types.slice(0, Math.max(1, types.length - 1)).map((name) => ({ name, methods: [random.pick(verbs)] }))

/** Returns the next version: a patch, a minor version that adds to the API, or a major version that removes from it. */
function nextState({ version: [major, minor, patch], api }: State, random: Random): State & { changes: string[] } {
  const chance = random.next()
  if (chance < 0.5) return { version: [major, minor, patch + 1], api, changes: fixes(random) }
  const changed = random.pick(api)
  if (chance < 0.86 || changed.methods.length < 2) {
    const added = random.pick(verbs.filter((verb) => !changed.methods.includes(verb)))
    const next = api.map((type) => (type === changed ? { ...type, methods: [...type.methods, added] } : type))
    return { version: [major, minor + 1, 0], api: next, changes: [`Added \`${changed.name}.${added}\`.`, ...fixes(random).slice(1)] }
  }
  const removed = changed.methods[0] ?? ''
  const next = api.map((type) => (type === changed ? { ...type, methods: type.methods.slice(1) } : type))
  return {
    version: [major + 1, 0, 0],
    api: next,
    changes: [`**Breaking:** removed \`${changed.name}.${removed}\`, deprecated since ${major}.${minor}.0.`, 'Requires Dart 3.4.'],
  }
}

const fixesKnown = [
  'Fixed a crash when the app resumes without a network.',
  'Fixed rounding on devices with fractional pixel ratios.',
  'Reduced memory use while scrolling long lists.',
  'Improved the error message for missing configuration.',
  'Fixed a race between `close` and a pending request.',
  'Improved documentation and examples.',
  'Fixed wrong contrast in dark mode.',
  'Widened the constraints of dependencies.',
]
const fixes = (random: Random): string[] =>
  [random.pick(fixesKnown), random.pick(fixesKnown)].filter((line, index, all) => all.indexOf(line) === index)
