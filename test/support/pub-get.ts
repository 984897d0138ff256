import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { parse } from 'yaml'
import { allows, parseConstraint } from '../../server/platform/pub/constraint.ts'
import { compareParsed, isPrerelease, known } from '../../server/platform/pub/version.ts'
import { type PubAdvisory, type PubClient, PubFailure, type PubListing, type PubVersion } from './pub-client.ts'

/** Versions by package, as in a lockfile. */
export type Lock = Record<string, string>
export type Resolved = {
  lock: Lock
  entries: Map<string, PubVersion>
  archives: Map<string, Buffer>
  advisories: Map<string, PubAdvisory[]>
}

/**
 * Resolves the dependencies of an application, downloads them and reads advisories, as `dart pub get` does. Versions of the lockfile are kept if the
 * constraints allow them, also when they are retracted. The solver does not backtrack.
 */
export async function pubGet(client: PubClient, dependencies: Record<string, string>, lock: Lock = {}): Promise<Resolved> {
  const solver = new Solver(client, lock)
  await solver.solve(dependencies)
  const archives = new Map<string, Buffer>()
  await inPool([...solver.chosen], async ([name, entry]) => {
    const archive = await client.archive(entry)
    await requireSameManifest(entry, archive)
    archives.set(name, archive)
  })
  const advisories = new Map<string, PubAdvisory[]>()
  await inPool([...solver.chosen.keys()], async (name) => {
    if ((await solver.listing(name)).advisoriesUpdated !== undefined) advisories.set(name, await client.advisories(name))
  })
  const versions = [...solver.chosen].map(([name, { version }]) => [name, version] as const)
  return { lock: Object.fromEntries(versions), entries: solver.chosen, archives, advisories }
}

class Solver {
  readonly chosen = new Map<string, PubVersion>()
  private readonly constraints = new Map<string, Set<string>>()
  private readonly listings = new Map<string, Promise<PubListing>>()
  private readonly client: PubClient
  private readonly lock: Lock

  constructor(client: PubClient, lock: Lock) {
    this.client = client
    this.lock = lock
  }

  listing(name: string): Promise<PubListing> {
    const known = this.listings.get(name) ?? this.client.listing(name)
    this.listings.set(name, known)
    return known
  }

  async solve(dependencies: Record<string, string>): Promise<void> {
    for (let next = this.require(dependencies); next.length > 0;) {
      await inPool(next, (name) => this.listing(name))
      const changed: string[] = []
      for (const name of new Set(next)) changed.push(...(await this.choose(name)))
      next = changed
    }
  }

  /** Adds constraints and returns the packages that have new ones. */
  private require(dependencies: Record<string, string>): string[] {
    return Object.entries(dependencies).flatMap(([name, constraint]) => {
      const known = this.constraints.get(name) ?? new Set()
      this.constraints.set(name, known)
      if (known.has(constraint)) return []
      known.add(constraint)
      return [name]
    })
  }

  private async choose(name: string): Promise<string[]> {
    const best = this.best(name, await this.listing(name))
    if (best.version === this.chosen.get(name)?.version) return []
    this.chosen.set(name, best)
    return this.require((best.pubspec.dependencies ?? {}) as Record<string, string>)
  }

  private best(name: string, { versions }: PubListing): PubVersion {
    const constraints = [...(this.constraints.get(name) ?? [])]
    const allowed = versions.filter(({ version }) => constraints.every((text) => isAllowed(text, version)))
    const locked = allowed.find(({ version }) => version === this.lock[name])
    if (locked) return locked
    const [best] = allowed.filter(({ retracted }) => retracted !== true).toSorted((a, b) => priority(b.version, a.version))
    if (!best) throw new PubFailure(0, `Because the app depends on ${name} ${constraints.join(' ')} which doesn't match any versions`)
    return best
  }
}

function isAllowed(text: string, version: string): boolean {
  const constraint = parseConstraint(text)
  return constraint !== null && allows(constraint, version)
}

/** Stable versions are preferred to pre-releases, and higher versions to lower ones. */
const priority = (a: string, b: string): number => Number(isPrerelease(b)) - Number(isPrerelease(a)) || compareParsed(known(a), known(b))

/** Runs the work for all items, at most 16 at a time, as the client does. */
async function inPool<Item>(items: Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

/** Throws if the archive holds another pubspec than the listing shows. The client builds with the one in the archive. */
async function requireSameManifest(entry: PubVersion, archive: Buffer): Promise<void> {
  const manifest = await fileIn(archive, 'pubspec.yaml')
  const pubspec = manifest && (parse(manifest.toString()) as PubVersion['pubspec'])
  const isSame = pubspec && JSON.stringify(pubspec.dependencies) === JSON.stringify(entry.pubspec.dependencies)
  if (!isSame || pubspec.name !== entry.pubspec.name || pubspec.version !== entry.version)
    throw new PubFailure(200, `the archive of ${String(entry.pubspec.name)} ${entry.version} holds another pubspec`)
}

async function fileIn(archive: Buffer, path: string): Promise<Buffer | undefined> {
  const entries = Readable.from([archive]).pipe(createGunzip()).pipe(extract())
  for await (const entry of entries) {
    if (entry.header.name === path) return buffer(entry)
    entry.resume()
  }
  return undefined
}
