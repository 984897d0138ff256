import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checksums, migrationNames, sealFile } from '../../server/platform/db/schema/migration-files.ts'
import { namedFiles } from '../support/several-files.ts'
import { areaOf, areas, featureOf, roleOf, root, type Source, sources } from '../support/sources.ts'

const server = sources('server/**/*.ts')
const migrations = sources('server/platform/db/migrations/**/*.ts', [])

type Rule = (from: string, to: string) => boolean

/** Returns the imports that a rule forbids, as `importer → imported`. */
const violations = (files: Source[], forbids: Rule): string[] =>
  files.flatMap(({ path, imports }) => imports.filter((to) => forbids(path, to)).map((to) => `${path} → ${to}`))

/** Files that every area may import: the errors, and the types of the services, which features extend. They import nothing above the platform. */
const contracts = ['server/errors.ts', 'server/services.ts']

/**
 * Forbids imports of a higher area. The files at the root compose the areas, so that only they and programs import them, except the contracts. The
 * database is opened with the list of tables.
 */
const isUpward: Rule = (from, to) => {
  const [own, other] = [contracts.includes(from) ? 'platform' : areaOf(from), areaOf(to)]
  if (own === null || contracts.includes(to)) return false
  if (other === null) return !(to === 'server/entities.ts' && dirname(from) === 'server/platform/db/open') && to.startsWith('server/')
  return areas.indexOf(other) > areas.indexOf(own)
}
/** Programs of their own, which load the whole server. */
const programs = new Set([
  'server/platform/graphql/print-schema.ts',
  'server/platform/launch/where.ts',
  'server/operations/admin/main.ts',
  'server/operations/demo/main.ts',
])

/** Returns the cycles between features, each as `a → b → a`. Type imports count. */
function featureCycles(files: Source[]): string[] {
  const graph = new Map<string, Set<string>>()
  for (const { path, imports } of files) {
    const from = featureOf(path)
    if (from === null) continue
    const known = graph.get(from) ?? new Set()
    graph.set(from, known)
    for (const to of imports.map(featureOf)) if (to !== null && to !== from) known.add(to)
  }
  return [...graph.keys()].flatMap((feature) => cycleFrom(feature, graph) ?? [])
}

describe('areas and features', () => {
  it('import only their own area and lower ones', () => {
    const files = server.filter(({ path }) => !programs.has(path))
    expect(violations(files, isUpward)).toEqual([])
  })

  it('form no cycles, type imports included', () => {
    expect(featureCycles(server)).toEqual([])
  })

  it('are checked by rules that find planted violations', () => {
    const source = (path: string, ...imports: string[]): Source => ({ path, imports, text: '', lines: 1 })
    const planted = [
      source('server/registry/likes/service.ts', 'server/analysis/docs/store.ts', 'server/registry/packages/list/entity.ts'),
      source('server/registry/packages/service.ts', 'server/registry/likes/service.ts', 'server/schema.ts', 'server/errors.ts'),
      source('server/operations/move/target.ts', 'server/entities.ts', 'server/a-new-list.ts', 'server/services.ts'),
      source('server/platform/db/open/orm.ts', 'server/entities.ts', 'server/routes.ts'),
      source('server/services.ts', 'server/platform/http/log.ts', 'server/analysis/report/analyze.ts', 'server/app.ts'),
      source('server/app.ts', 'server/routes.ts', 'server/operations/legal/schema.ts'),
    ]
    expect(violations(planted, isUpward)).toEqual([
      'server/registry/likes/service.ts → server/analysis/docs/store.ts',
      'server/registry/packages/service.ts → server/schema.ts',
      'server/operations/move/target.ts → server/entities.ts',
      'server/operations/move/target.ts → server/a-new-list.ts',
      'server/platform/db/open/orm.ts → server/routes.ts',
      'server/services.ts → server/analysis/report/analyze.ts',
      'server/services.ts → server/app.ts',
    ])
    expect(featureCycles(planted)).toEqual([
      'registry/likes → registry/packages → registry/likes',
      'registry/packages → registry/likes → registry/packages',
    ])
  })

  it('hold every server file except those at the root', () => {
    const outside = server.filter(({ path }) => dirname(path) !== 'server' && featureOf(path) === null)
    expect(outside.map(({ path }) => path)).toEqual([])
  })
})

describe('layers of a feature', () => {
  const inFeatures = server.filter(({ path }) => featureOf(path) !== null && areaOf(path) !== 'platform')
  const isFeature = (path: string) => featureOf(path) !== null && areaOf(path) !== 'platform'

  it('import downwards: rest and schema, then service, then entity', () => {
    const level = { entity: 0, service: 1, refs: 2, schema: 2, rest: 2 }
    expect(violations(inFeatures, (from, to) => isFeature(to) && level[roleOf(from)] < level[roleOf(to)])).toEqual([])
  })

  it('keep schema and endpoints private to the feature', () => {
    const isForeign: Rule = (from, to) =>
      isFeature(to) && featureOf(from) !== featureOf(to) && ['schema', 'rest'].includes(roleOf(to)) && !programs.has(from)
    expect(violations(inFeatures, isForeign)).toEqual([])
  })

  it('keep GraphQL out of services and entities', () => {
    const files = inFeatures.filter(({ path }) => ['service', 'entity'].includes(roleOf(path)))
    expect(violations(files, (_from, to) => to === 'server/platform/graphql/builder.ts')).toEqual([])
  })

  it('keep server, console and tests apart', () => {
    expect(violations(server, (_from, to) => !to.startsWith('server/') && to !== 'package.json')).toEqual([])
    expect(violations(sources('web/**/*.{ts,vue}'), (_from, to) => !to.startsWith('web/'))).toEqual([])
  })
})

describe('files', () => {
  it('form no import cycles, type imports included', () => {
    const graph = new Map(server.concat(migrations).map(({ path, imports }) => [path, new Set(imports)]))
    expect([...graph.keys()].flatMap((path) => cycleFrom(path, graph) ?? [])).toEqual([])
  })

  it('of migrations import no live code, which keeps changing', () => {
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

describe('navigation', () => {
  it('needs at most twelve files at the root of the server', () => {
    expect(readdirSync(join(root, 'server')).filter((name) => /\.m?ts$|\.mjs$/.test(name)).length).toBeLessThanOrEqual(12)
  })

  it('needs at most twenty files in a folder', () => {
    const sizes = Map.groupBy(server, ({ path }) => dirname(path))
    const large = [...sizes].filter(([, files]) => files.length > 20)
    expect(large.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
  })

  it('has a map in server/README.md that names every feature', () => {
    const readme = readFileSync(join(root, 'server/README.md'), 'utf8')
    const features = new Set(server.flatMap(({ path }) => featureOf(path)?.split('/')[1] ?? []))
    expect([...features].filter((feature) => !readme.includes(feature))).toEqual([])
  })
})

/** Returns the shortest cycle through `start`, as `start → … → start`, or null. */
function cycleFrom(start: string, graph: ReadonlyMap<string, ReadonlySet<string>>): string | null {
  const previous = new Map<string, string>()
  const queue = [start]
  for (const place of queue) {
    for (const next of graph.get(place) ?? []) {
      if (next === start) return [...pathTo(place, previous), start].join(' → ')
      if (previous.has(next)) continue
      previous.set(next, place)
      queue.push(next)
    }
  }
  return null
}

function pathTo(place: string, previous: ReadonlyMap<string, string>): string[] {
  const before = previous.get(place)
  return before === undefined ? [place] : [...pathTo(before, previous), place]
}

describe('tests mirror the server', () => {
  const tests = sources('test/**/*.test.ts').filter(({ path }) => !/^test\/(e2e|faults|measured)\//.test(path))
  const ofFeatures = tests.filter(({ path }) => !path.startsWith('test/unit/'))
  /** Files with functions that start a server. */
  const support = ['public-packages', 'mirror', 'service-accounts', 'trusted-app'].map((name) => `test/support/${name}.ts`)
  const starters = ['test/app.ts', ...support]
  const drivesTheApp = ({ imports }: Source) => imports.some((path) => starters.includes(path))

  it('by a folder for each feature, as the server or the console has it, and one for what belongs to none', () => {
    const below = (folder: string) => readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    const features = areas.flatMap((area) => [area, ...below(`server/${area}`).map(({ name }) => name)])
    const known = new Set<string>([...features, ...below('web').map(({ name }) => name), 'contract'])
    const strange = tests.filter(({ path }) => !known.has(path.split('/').at(path.startsWith('test/unit/') ? 2 : 1) ?? ''))
    expect(strange.map(({ path }) => path)).toEqual(['test/unit/architecture.test.ts', 'test/unit/wording.test.ts'])
  })

  it('with at most twenty files in a folder', () => {
    const sizes = Map.groupBy(ofFeatures, ({ path }) => dirname(path))
    expect([...sizes].filter(([, files]) => files.length > 20).map(([folder]) => folder)).toEqual([])
  })

  it('and by unit/, which drives no server, while all others do', () => {
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

  it('have 105 lines on average, so that each is worth opening', () => {
    const lines = server.reduce((sum, file) => sum + file.lines, 0)
    expect(lines / server.length).toBeGreaterThanOrEqual(105)
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
