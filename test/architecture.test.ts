import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderOf, roleOf, root, type Source, sources } from './support/sources.ts'

const server = sources('server/**/*.ts')
const infrastructure = ['blobs', 'db', 'http', 'jobs']
const composition = [...infrastructure, 'rest', 'launch']
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
    expect(offences(speakers, (_from, to) => to === 'server/builder.ts')).toEqual([])
  })

  it('leaves the server unaware of console and tests, and the console of the server', () => {
    expect(offences(server, (_from, to) => !to.startsWith('server/') && to !== 'package.json')).toEqual([])
    expect(offences(sources('web/**/*.{ts,vue}'), (_from, to) => !to.startsWith('web/'))).toEqual([])
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
    const allowed = new Set([...known, 'schema.graphql', 'server', 'test', 'tsconfig.json', 'web', 'data', 'node_modules'])
    const strange = readdirSync(root).filter((name) => !name.startsWith('.') && !name.endsWith('.log') && !allowed.has(name))
    expect(strange).toEqual([])
  })

  it('reads the environment in one place', () => {
    const readers = server.filter(({ text }) => /\bprocess\.(env\b|loadEnvFile)/.test(text)).map(({ path }) => path)
    expect(readers).toEqual(['server/config.ts'])
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
