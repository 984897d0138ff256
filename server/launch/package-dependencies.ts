import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadedFromFolder } from './loaded-from-folder.ts'

/** The systems for which all native dependencies have prebuilt binaries; Linux with glibc. */
export const platforms = ['linux-x64', 'linux-arm64']

/** Of these, only this is loaded. */
const only: Record<string, string> = { 'tree-sitter-dart-orchard': '*.wasm', 'web-tree-sitter': 'web-tree-sitter.{js,wasm}' }
/** These are for compiling native code. */
const leftOut = ['node-addon-api']
const kept = '**/*.{js,cjs,mjs,json,node,wasm,so,so.*}'
const dropped = /\/(tests?|examples?|docs|debug|install|deps|src)\//
const licenses = '{LICENSE,LICENCE,NOTICE,THIRD-PARTY-NOTICES}*'

type DependencyFiles = {
  /** What `folders` and `paths` begin at. */
  root: string
  /** The folders of the packages. */
  folders: string[]
  paths: string[]
  /** To be called when they are copied. */
  done: () => void
}

/** The files of the dependencies that are loaded from their folders at run time on a platform. */
export function dependencyFiles(platform: string): DependencyFiles {
  const isHere = existsSync(`node_modules/@img/sharp-${platform}`)
  const root = isHere ? '.' : installFor(platform)
  const names = [...closure(root, loadedFromFolder)]
  const paths = names.flatMap((name) => filesOf(root, name, platform))
  return { root, folders: names.map((name) => `node_modules/${name}`), paths, done: () => isHere || rmSync(root, { recursive: true }) }
}

/** Installs the production dependencies for another platform, as the lock file has them. */
function installFor(platform: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-package-'))
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(file, join(folder, file))
  const [os = '', cpu = ''] = platform.split('-')
  console.log(`Installing the dependencies for ${platform}…`)
  const options = ['--omit=dev', '--ignore-scripts', `--os=${os}`, `--cpu=${cpu}`, '--libc=glibc', '--loglevel=error']
  execFileSync('npm', ['ci', ...options], { cwd: folder, stdio: 'inherit' })
  return folder
}

/** The packages, and all that they need and that is there: what is optional may be for another platform. */
function closure(root: string, names: string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    if (found.has(name) || leftOut.includes(name) || !existsSync(join(root, 'node_modules', name))) continue
    found.add(name)
    if (!only[name]) closure(root, dependenciesOf(root, name), found)
  }
  return found
}

function dependenciesOf(root: string, name: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as Manifest
  return Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
}

type Manifest = Partial<Record<'dependencies' | 'optionalDependencies', Record<string, string>>>

function filesOf(root: string, name: string, platform: string): string[] {
  const folder = `node_modules/${name}`
  const patterns = ['package.json', licenses, only[name] ?? kept].map((pattern) => `${folder}/${pattern}`)
  return globSync(patterns, { cwd: root }).filter((path) => !dropped.test(path.slice(folder.length)) && fits(path, platform))
}

/** Whether a prebuilt binary, if it is one, is for this platform. */
function fits(path: string, platform: string): boolean {
  const [, built] = /\/prebuilds\/(.*)$/.exec(path) ?? []
  return built === undefined || (built.startsWith(platform) && !built.includes('musl'))
}
