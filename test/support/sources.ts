import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A file that people wrote, by its path from the top of the checkout. */
export interface Source {
  path: string
  text: string
  lines: number
  /** The paths of the own files that it imports. */
  imports: string[]
}

const made = ['**/node_modules/**', '{server,web}/dist/**', 'web/generated/**', 'server/platform/db/migrations/**']

/** Reads the files that match a pattern, except generated ones. */
export function sources(pattern: string, exclude: string[] = made): Source[] {
  const paths = globSync(pattern, { cwd: root, exclude })
  return paths.map((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    const imported = text.matchAll(/^(?:import|export|\} from)\b[^'\n]*'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)
    const imports = Array.from(imported, ([, direct, lazy]) => join(dirname(path), direct ?? lazy ?? ''))
    return { path, text, lines: text.split('\n').length - 1, imports }
  })
}

/** Areas of the server, lowest first. An area imports itself and lower ones. */
export const areas = ['platform', 'accounts', 'registry', 'analysis', 'operations'] as const
export type Area = (typeof areas)[number]

/** Returns the area of a server file. Null for files at the root of the server and outside it. */
export function areaOf(path: string): Area | null {
  const [top, folder, file] = path.split('/')
  return top === 'server' && file !== undefined ? (areas.find((area) => area === folder) ?? null) : null
}

/** Returns the feature of a server file as `area/feature`. Null for files outside an area. */
export function featureOf(path: string): string | null {
  const [, , feature, file] = path.split('/')
  return areaOf(path) !== null && file !== undefined ? `${areaOf(path)}/${feature}` : null
}

/** What a file is in its feature. What belongs to no role serves: it is the feature's own logic. */
export function roleOf(path: string): 'entity' | 'service' | 'refs' | 'schema' | 'rest' {
  const role = /(?:^|-)(entity|refs|schema|rest|binary)\.ts$/.exec(basename(path))?.[1]
  if (role === 'binary') return 'rest'
  return role === 'entity' || role === 'refs' || role === 'schema' || role === 'rest' ? role : 'service'
}
