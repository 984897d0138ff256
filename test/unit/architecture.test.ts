import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checksums, migrationNames, sealFile } from '../../server/platform/db/schema/migration-files.ts'
import { namedFiles } from '../support/several-files.ts'
import { folderOf, roleOf, root, type Source, sources } from '../support/sources.ts'

const server = sources('server/**/*.ts')
/** What knows no feature. */
const infrastructure = ['blobs', 'config', 'db', 'http', 'jobs', 'pub', 'roles', 'sandbox', 'threads']
const composition = [...infrastructure, 'access', 'archive', 'graphql', 'rest', 'launch']
const features = new Set(server.map(({ path }) => folderOf(path)).filter((folder) => folder !== null && !composition.includes(folder)))

/** The imports that a rule forbids, as `importer → imported`. */
function offences(files: Source[], forbids: (from: string, to: string) => boolean): string[] {
  return files.flatMap(({ path, imports }) => imports.filter((to) => forbids(path, to)).map((to) => `${path} → ${to}`))
}

describe('arrows run one way', () => {
  const inFeatures = server.filter(({ path }) => features.has(folderOf(path)))

  it('lets what serves every feature know none', () => {
    const files = server.filter(({ path }) => infrastructure.includes(folderOf(path) ?? ''))
    expect(offences(files, (_from, to) => features.has(folderOf(to)) || folderOf(to) === 'rest')).toEqual([])
  })

  it('leads from rest and schema to service to entity', () => {
    const level = { entity: 0, service: 1, refs: 2, schema: 2, rest: 2 }
    const upwards = (from: string, to: string) => features.has(folderOf(to)) && level[roleOf(from)] < level[roleOf(to)]
    expect(offences(inFeatures, upwards)).toEqual([])
  })

  it("keeps a feature's schema and endpoints to itself", () => {
    const foreign = (from: string, to: string) =>
      features.has(folderOf(to)) && folderOf(from) !== folderOf(to) && ['schema', 'rest'].includes(roleOf(to))
    expect(offences(inFeatures, foreign)).toEqual([])
  })

  it('keeps GraphQL out of services and entities', () => {
    const speakers = inFeatures.filter(({ path }) => ['service', 'entity'].includes(roleOf(path)))
    expect(offences(speakers, (_from, to) => to === 'server/platform/graphql/builder.ts')).toEqual([])
  })

  it('leaves the server unaware of console and tests, and the console of the server', () => {
    expect(offences(server, (_from, to) => !to.startsWith('server/') && to !== 'package.json')).toEqual([])
    expect(offences(sources('web/**/*.{ts,vue}'), (_from, to) => !to.startsWith('web/'))).toEqual([])
  })
})

describe('no circle', () => {
  // These gather what every feature has, so they know everybody.
  const lists = new Set(
    ['schema.ts', 'entities.ts', 'routes.ts', 'job-handlers.ts', 'after-package-change.ts'].map((file) => `server/${file}`),
  )
  const everything = server.concat(sources('server/platform/db/migrations/**/*.ts', []))
  const graph = new Map(everything.map(({ path, imports }) => [path, imports]))
  /** A folder, or one of the files at the root, which each stand alone. */
  const placeOf = (path: string) => (dirname(path) === 'server' ? path : dirname(path))

  it('joins two folders, types included', () => {
    const arrows = new Set(
      everything.flatMap(({ path, imports }) => (lists.has(path) ? [] : imports.map((to) => `${placeOf(path)} → ${placeOf(to)}`))),
    )
    const pairs = [...arrows].map((arrow) => arrow.split(' → ')).filter(([from, to]) => from !== to && arrows.has(`${to} → ${from}`))
    expect(pairs).toEqual([])
  })

  it('joins files, types included', () => {
    expect(everything.map(({ path }) => circleFrom(path, graph)).filter((circle) => circle !== null)).toEqual([])
  })

  it('leads from a migration to live code, which goes on changing', () => {
    const migrations = everything.filter(({ path }) => path.startsWith('server/platform/db/migrations/'))
    expect(migrations.length).toBeGreaterThan(40)
    expect(migrations.filter(({ imports }) => imports.length > 0).map(({ path }) => path)).toEqual([])
  })
})

describe('migrations', () => {
  it('have the same names on both databases, and a number each', () => {
    const names = migrationNames('sqlite')
    // What misleads the planner of SQLite does not mislead that of PostgreSQL.
    expect(migrationNames('postgres')).toEqual(names.filter((name) => !name.endsWith('_search_plans')))
    const numbers = names.map((name) => /^Migration(\d{14})_[a-z0-9_]+$/.exec(name)?.[1])
    expect(numbers).not.toContain(undefined)
    // Two were made at once before this was tested; databases know them by these names.
    const twice = numbers.filter((number, index) => numbers.indexOf(number) !== index)
    expect(twice).toEqual(['20261121000009'])
  })

  it('are not changed once another one has followed: databases have run them', () => {
    const sealed = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(sealFile, 'utf8')))
    const now = checksums()
    expect(Object.keys(sealed).length).toBeGreaterThan(40)
    expect(now).toMatchObject(sealed)
    const last =
      Object.keys(sealed)
        .filter((path) => path.startsWith('sqlite/'))
        .toSorted()
        .at(-1) ?? ''
    const unsealed = Object.keys(now).filter((path) => !(path in sealed))
    expect(unsealed.filter((path) => path.replace('postgres/', 'sqlite/') <= last)).toEqual([])
  })
})

describe('a stranger finds the way', () => {
  it('is at most twelve files at the root of the server', () => {
    expect(readdirSync(join(root, 'server')).filter((name) => /\.m?ts$|\.mjs$/.test(name)).length).toBeLessThanOrEqual(12)
  })

  it('is at most twenty files in a folder', () => {
    const sizes = Map.groupBy(server, ({ path }) => dirname(path))
    const large = [...sizes].filter(([, files]) => files.length > 20)
    expect(large.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
  })

  it('has a line for every folder of the server in the map of server/README.md', () => {
    const readme = readFileSync(join(root, 'server/README.md'), 'utf8')
    const folders = readdirSync(join(root, 'server'), { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && entry.name !== 'dist',
    )
    expect(folders.map(({ name }) => name).filter((name) => !readme.includes(` ${name}/`))).toEqual([])
  })
})

/** A way through imports that comes back to its beginning, or null. */
function circleFrom(start: string, graph: ReadonlyMap<string, string[]>): string | null {
  const before = new Map<string, string>()
  const queue = [start]
  for (const path of queue) {
    for (const next of graph.get(path) ?? []) {
      if (next === start) return wayTo(path, before).join(' → ')
      if (before.has(next)) continue
      before.set(next, path)
      queue.push(next)
    }
  }
  return null
}

function wayTo(path: string, before: ReadonlyMap<string, string>): string[] {
  const previous = before.get(path)
  return previous === undefined ? [path] : [...wayTo(previous, before), path]
}

describe('tests mirror the house', () => {
  const tests = sources('test/**/*.test.ts').filter(({ path }) => !/^test\/(e2e|faults|measured)\//.test(path))
  const ofFeatures = tests.filter(({ path }) => !path.startsWith('test/unit/'))
  const drivesTheApp = ({ imports }: Source) => imports.some((path) => ['test/app.ts', 'test/support/public-packages.ts'].includes(path))

  it('by a folder for each feature, as the server or the console has it, and one for what belongs to none', () => {
    const below = (folder: string) => readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    const known = new Set([...below('server'), ...below('web')].map(({ name }) => name).concat('contract'))
    const strange = tests.filter(({ path }) => !known.has(path.split('/').at(path.startsWith('test/unit/') ? 2 : 1) ?? ''))
    expect(strange.map(({ path }) => path)).toEqual(['test/unit/architecture.test.ts'])
  })

  it('with at most twenty files in a folder', () => {
    const sizes = Map.groupBy(ofFeatures, ({ path }) => dirname(path))
    expect([...sizes].filter(([, files]) => files.length > 20).map(([folder]) => folder)).toEqual([])
  })

  it('and by unit/, which drives no server, while all others do: they run on both databases', () => {
    expect(ofFeatures.filter((file) => !drivesTheApp(file)).map(({ path }) => path)).toEqual([])
    expect(sources('test/unit/**/*.ts').filter(drivesTheApp)).toEqual([])
  })

  it('also in the lists of what several instances run', () => {
    expect(namedFiles.filter((name) => !existsSync(join(root, `test/${name}.test.ts`)))).toEqual([])
  })
})

describe('files stay small', () => {
  it.each([
    ['server/**/*.{ts,mjs}', 250],
    ['web/**/*.ts', 250],
    ['web/**/*.vue', 200],
    ['test/**/*.ts', 300],
  ])('%s has at most %d lines', (pattern, most) => {
    const long = sources(pattern).filter(({ lines }) => lines > most)
    expect(long.map(({ path, lines }) => `${path}: ${lines}`)).toEqual([])
  })

  it('has a median below 80 lines', () => {
    const sizes = server.map(({ lines }) => lines).sort((a, b) => a - b)
    expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThan(80)
  })
})

describe('the checkout', () => {
  const written = sources('{server,web,test}/**/*.{ts,mjs,js,vue,css,html}').concat(sources('{*,.*}.{md,json,ts,yaml}'), sources('.ci/*'))

  it('keeps its few names at the top', () => {
    const known = ['LICENSE', 'Dockerfile', 'compose.yaml', 'mikro-orm.config.ts', 'package-lock.json', 'package.json', 'README.md']
    const made = ['data', 'dist', 'node_modules']
    const allowed = new Set([...known, 'CHANGELOG.md', 'schema.graphql', 'server', 'test', 'tsconfig.json', 'web', ...made])
    const strange = readdirSync(root).filter((name) => !name.startsWith('.') && !name.endsWith('.log') && !allowed.has(name))
    expect(strange).toEqual([])
  })

  it('reads the environment in one place', () => {
    const readers = server.filter(({ text }) => /\bprocess\.(env\b|loadEnvFile)/.test(text)).map(({ path }) => path)
    expect(readers).toEqual(['server/platform/config/config.ts'])
  })

  it('names no path of the machine it was written on', () => {
    const places = [join(root, '.'), homedir()].map((path) => path.replace(/\/$/, '')).filter((path) => path !== '')
    expect(written.filter(({ text }) => places.some((place) => text.includes(`${place}/`))).map(({ path }) => path)).toEqual([])
  })

  it('locks the dependencies for every platform, from whatever registry is at hand', () => {
    const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
    const { packages }: { packages: Record<string, { optionalDependencies?: Record<string, string> }> } = JSON.parse(lock)
    // npm leaves out what its registry does not offer, and `npm ci` then refuses the file.
    const optional = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    const missing = optional.filter((name) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`)))
    expect([...new Set(missing)]).toEqual([])
    expect(lock).not.toContain('"resolved"')
  })
})
