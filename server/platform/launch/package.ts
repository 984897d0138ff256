import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  createWriteStream,
  lstatSync,
  readlinkSync,
} from 'node:fs'
import { dirname, join, resolve, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../config/version.ts'
import { bundledFolders, licenseTexts } from './package-licenses.ts'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { loadedFromFolder } from './vite.config.ts'
import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'

// Run by `npm run package`. Builds a package for machines that only have Node, as a folder and as a .tar.gz. It contains:
// - the build of the server (server/dist) with its bundled dependencies, and the files that it loads by path: texts, styles, and the names of
//   migrations;
// - the build of the console (web/dist);
// - the files that are loaded at run time from dependencies that are not bundled (native code, grammars), without source maps, types, docs,
//   tests, native sources, and prebuilt binaries for other platforms;
// - THIRD_PARTY_LICENSES, the licenses of all dependencies;
// - `snug`, the start script; README, license and changelog; and the examples of server/platform/deploy.

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
/** Size limit of the package, which catches files included by mistake. */
const maxBytes = 120e6

/** Platforms for which all native dependencies have prebuilt binaries. Linux requires glibc. */
const platforms = ['linux-x64', 'linux-arm64']

/** Packages of which only these files are loaded at run time. */
const loadedFiles: Record<string, string> = { 'tree-sitter-dart-orchard': '*.wasm', 'web-tree-sitter': 'web-tree-sitter.{js,wasm}' }
/** Packages that are only needed for compiling native code. */
const buildOnly = ['node-addon-api']
const kept = '**/*.{js,cjs,mjs,json,node,wasm,so,so.*}'
const dropped = /\/(tests?|examples?|docs|debug|install|deps|src)\//
const licenses = '{LICENSE,LICENCE,NOTICE,THIRD-PARTY-NOTICES}*'

const { values } = parseArgs({
  options: { platform: { type: 'string', default: `${process.platform}-${process.arch}` }, into: { type: 'string', default: 'dist' } },
})
const { platform } = values
if (!platforms.includes(platform)) {
  console.error(`Unsupported platform ${platform}. Use ${platforms.join(' or ')}: npm run package -- --platform ${platforms[0]}`)
  process.exit(64)
}

const name = `snug-${version}-${platform}`
const folder = resolve(values.into, name)
rmSync(folder, { recursive: true, force: true })

copy(globSync('{server,web}/dist/**', { exclude: (path) => /\/(\.built-from|licenses\.json)$/.test(path) }))
copy(globSync('server/**/*.{md,css,js,mjs,png,txt}', { exclude: ['server/{dist,platform/launch,platform/deploy}/**', 'server/README.md'] }))
copy(globSync(['server/platform/db/migrations/*/*.ts', 'server/platform/launch/{snug,environment}.mjs']))
copy(['LICENSE', 'README.md', 'CHANGELOG.md', ...globSync('web/help/*.md')])
copy(globSync('server/platform/deploy/**'), (path) => path.replace('server/platform/', ''))
copyDependencies()
symlinkSync('server/platform/launch/snug.mjs', join(folder, 'snug'))
writeManifest()

const bytes = sizeOf(folder)
if (bytes > maxBytes) throw new Error(`The package is too large: ${mb(bytes)}, the maximum is ${mb(maxBytes)}.`)
const archive = await writeArchive(folder, name)
console.log(`Created ${folder} (${mb(bytes)}) and ${archive.path} (${mb(archive.bytes)}).\nSHA-256 ${archive.sha256}`)

function copy(paths: string[], rename = (path: string) => path): void {
  for (const path of paths) if (statSync(path).isFile()) copyFile(path, rename(path))
}

/** Copies a file with fixed permissions, readable by all users, regardless of the umask and the source. */
function copyFile(from: string, to: string): void {
  const target = join(folder, to)
  mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
  cpSync(from, target)
  chmodSync(target, to.endsWith('/snug.mjs') ? 0o755 : 0o644)
}

function copyDependencies(): void {
  const { root, folders, paths, done } = dependencyFiles(platform)
  for (const path of paths) copyFile(join(root, path), path)
  const all = [...bundledFolders(['server/dist', 'web/dist']), ...folders.map((path) => join(root, path))]
  writeFileSync(join(folder, 'THIRD_PARTY_LICENSES'), licenseTexts(all), { mode: 0o644 })
  done()
}

/** Writes a package.json with the version and the platform. The field `snug` marks it as a package, in which commands have another form. */
function writeManifest(): void {
  const { description, license, type, engines } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, unknown>
  const manifest = { name: 'snug', version, description, license, private: true, type, engines, snug: { platform } }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

function sizeOf(path: string): number {
  return globSync(`${path}/**`).reduce((sum, each) => sum + statSync(each).size, 0)
}

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
function dependencyFiles(platform: string): DependencyFiles {
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
  // npm skips optional packages that it cannot download, without an error.
  const absent = nativePackages(platform).filter((name) => !existsSync(join(folder, 'node_modules', name)))
  if (absent.length > 0) throw new Error(`npm could not download ${absent.join(' and ')}. Check the network and run the command again.`)
  return folder
}

/** Optional packages without which the server does not run on the platform. */
function nativePackages(platform: string): string[] {
  return [`@img/sharp-${platform}`, `@img/sharp-libvips-${platform}`]
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

type Archive = { path: string; bytes: number; sha256: string }

/** Packs a folder into a .tar.gz next to it. The archive is reproducible: it contains no times, user names or absolute paths. */
async function writeArchive(folder: string, name: string): Promise<Archive> {
  const path = `${folder}.tar.gz`
  const entries = pack()
  const written = pipeline(entries, createGzip(), createWriteStream(path))
  for (const file of globSync(`${folder}/**`).sort()) {
    const stats = lstatSync(file)
    const header = { name: `${name}/${relative(folder, file)}`, mode: stats.mode & 0o777, mtime: new Date(0) }
    if (stats.isSymbolicLink()) entries.entry({ ...header, type: 'symlink', linkname: readlinkSync(file) })
    else if (stats.isFile()) entries.entry(header, readFileSync(file))
  }
  entries.finalize()
  await written
  return { path, bytes: statSync(path).size, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') }
}
