// Run by `npm run package`. Builds a package for machines that only have Node, as a folder and as a .tar.gz. It contains:
// - the build of the server (server/dist) with its bundled dependencies, and the files that it loads by path: texts, styles, and the names of
//   migrations;
// - the build of the console (web/dist);
// - the files that are loaded at run time from dependencies that are not bundled (native code, grammars), without source maps, types, docs,
//   tests, native sources, and prebuilt binaries for other platforms;
// - THIRD_PARTY_LICENSES, the licenses of all dependencies;
// - `snug`, the start script; README, license and changelog; and the examples of server/deploy.
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../config/version.ts'
import { writeArchive } from './package-archive.ts'
import { dependencyFiles, platforms } from './package-dependencies.ts'
import { bundledFolders, licenseTexts } from './package-licenses.ts'

const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
/** Size limit of the package, which catches files included by mistake. */
const maxBytes = 120e6

const { values } = parseArgs({
  options: {
    platform: { type: 'string', default: `${process.platform}-${process.arch}` },
    into: { type: 'string', default: 'dist' },
  },
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
copy(globSync('server/**/*.{md,css,js,mjs}', { exclude: ['server/{dist,platform/launch,platform/deploy}/**', 'server/README.md'] }))
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
