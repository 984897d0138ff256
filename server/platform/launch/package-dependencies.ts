import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadedFromFolder } from './loaded-from-folder.ts'

/** Platforms for which all native dependencies have prebuilt binaries. Linux requires glibc. */
export const platforms = ['linux-x64', 'linux-arm64']

/** Packages of which only these files are loaded at run time. */
const loadedFiles: Record<string, string> = { 'tree-sitter-dart-orchard': '*.wasm', 'web-tree-sitter': 'web-tree-sitter.{js,wasm}' }
/** Packages that are only needed for compiling native code. */
const buildOnly = ['node-addon-api']
const kept = '**/*.{js,cjs,mjs,json,node,wasm,so,so.*}'
const dropped = /\/(tests?|examples?|docs|debug|install|deps|src)\//
const licenses = '{LICENSE,LICENCE,NOTICE,THIRD-PARTY-NOTICES}*'

type DependencyFiles = {
  /** Base folder of `folders` and `paths`. */
  root: string
  /** Folders of the packages. */
  folders: string[]
  paths: string[]
  /** Removes temporary files. Must be called after copying. */
  done: () => void
}

/** Returns the files of dependencies that are loaded from node_modules at run time on a platform. */
export function dependencyFiles(platform: string): DependencyFiles {
  const isHere = existsSync(`node_modules/@img/sharp-${platform}`)
  const root = isHere ? '.' : installFor(platform)
  const names = [...closure(root, loadedFromFolder)]
  const paths = names.flatMap((name) => filesOf(root, name, platform))
  return { root, folders: names.map((name) => `node_modules/${name}`), paths, done: () => isHere || rmSync(root, { recursive: true }) }
}

/** Installs the production dependencies of the lock file for another platform into a temporary folder. Returns the folder. */
function installFor(platform: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-package-'))
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(file, join(folder, file))
  const [os = '', cpu = ''] = platform.split('-')
  console.log(`Installing the dependencies for ${platform}…`)
  const options = ['--omit=dev', '--ignore-scripts', `--os=${os}`, `--cpu=${cpu}`, '--libc=glibc', '--loglevel=error']
  execFileSync('npm', ['ci', ...options], { cwd: folder, stdio: 'inherit' })
  return folder
}

/** Returns the packages and their installed transitive dependencies. Optional dependencies for other platforms are not installed. */
function closure(root: string, names: string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    if (found.has(name) || buildOnly.includes(name) || !existsSync(join(root, 'node_modules', name))) continue
    found.add(name)
    if (!loadedFiles[name]) closure(root, dependenciesOf(root, name), found)
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
  const patterns = ['package.json', licenses, loadedFiles[name] ?? kept].map((pattern) => `${folder}/${pattern}`)
  return globSync(patterns, { cwd: root }).filter((path) => !dropped.test(path.slice(folder.length)) && fits(path, platform))
}

/** Whether a file is needed on this platform; excludes prebuilt binaries for others. */
function fits(path: string, platform: string): boolean {
  const [, built] = /\/prebuilds\/(.*)$/.exec(path) ?? []
  return built === undefined || (built.startsWith(platform) && !built.includes('musl'))
}
