import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { tarEnd, tarEntry } from './tar.ts'

export type ArchiveOptions = {
  name: string
  version: string
  /** YAML to append to the generated pubspec. */
  pubspec?: string
  /** Pubspec that replaces the generated one. */
  manifest?: string
  /** Files to add, or to replace default ones (`README.md`, `CHANGELOG.md`, `LICENSE`, `lib/<name>.dart`). */
  files?: Record<string, string | Buffer>
}

/**
 * Creates a valid package archive in the format of `dart pub publish`: a gzipped tar with directories before their files, GNU long names and owner
 * `pub`.
 */
export async function packageArchive(options: ArchiveOptions): Promise<Buffer> {
  return compress(packageTar(options))
}

/** Creates the tar of a package archive without compressing it. */
export function packageTar({ name, version, pubspec = '', manifest, files = {} }: ArchiveOptions): Buffer {
  const all = { ...defaultFiles(name, version), 'pubspec.yaml': manifest ?? `${defaultPubspec(name, version)}${pubspec}\n`, ...files }
  const directories = new Set(Object.keys(all).flatMap(parents))
  const entries = [
    ...[...directories].map((directory) => tarEntry({ name: `${directory}/`, type: '5' })),
    ...Object.entries(all).map(([path, content]) => tarEntry({ name: path }, content)),
  ]
  return Buffer.concat([...entries, tarEnd])
}

/** Streams an archive in chunks of `size` bytes. */
export const inPieces = (archive: Buffer, size = 1000): Readable =>
  Readable.from(Array.from({ length: Math.ceil(archive.length / size) }, (_, index) => archive.subarray(index * size, (index + 1) * size)))

/** Returns the default pubspec of generated archives. */
export const defaultPubspec = (name: string, version: string) =>
  `name: ${name}\nversion: ${version}\ndescription: The package ${name}, made for a test of the registry.\nenvironment:\n  sdk: '>=3.0.0 <4.0.0'\n`

const compress = promisify<Buffer, Buffer>(gzip)

const defaultFiles = (name: string, version: string) => ({
  'README.md': `# ${name}\n\nMade for a test.\n`,
  'CHANGELOG.md': `## ${version}\n\n- First.\n`,
  LICENSE: 'MIT License\n\nCopyright (c) 2024 The authors\n',
  [`lib/${name}.dart`]: `/// The answer of ${name}.\nint answer() => 42;\n`,
})

function parents(path: string): string[] {
  const segments = path.split('/').slice(0, -1)
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}
