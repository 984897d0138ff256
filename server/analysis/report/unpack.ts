import { createReadStream } from 'node:fs'
import { pickExample, type TextFile, utf8Of } from '../../registry/archive/documents.ts'
import { describePubspec, type Pubspec } from '../../registry/archive/pubspec.ts'
import { type ArchiveContents, type FileVisitor, readArchive } from '../../registry/archive/read.ts'
import { type JsonObject, readYaml } from '../../registry/archive/yaml.ts'
import type { ArchiveFile } from '../../registry/archive/path.ts'
import type { Report } from './report.ts'

/** The contents of a package that an analysis reads. Held in memory only. */
export type PackageContents = Pick<ArchiveContents, 'readme' | 'changelog' | 'license' | 'files'> & {
  pubspec: Pubspec
  /** The parsed pubspec with all keys. */
  document: JsonObject
  example: TextFile | null
  /** Source files below `lib/` by their path in the archive. */
  sources: Map<string, string>
  /** Paths of source files below `lib/` that exceed the size limit. */
  tooLarge: string[]
  /** Paths of `.dart` files below `lib/` that are not text. */
  notText: string[]
  /** Texts of other files that are evaluated, by path. */
  others: Map<string, string>
}

/** Only generated files, such as a list of all icons, come close to this size. */
const maxSourceBytes = 8 * 1024 ** 2
const maxSourcesBytes = 24 * 1024 ** 2
const maxOtherBytes = 64 * 1024

/** Reads the archive with the same rules as publishing. @throws PackageRejected when the archive breaks a rule. */
export async function unpack(archive: string): Promise<PackageContents> {
  const taken = new Map<string, Buffer[]>()
  const tooLarge: string[] = []
  const source = createReadStream(archive, { highWaterMark: 256 * 1024 })
  const { pubspecText, examples, ...contents } = await readArchive(source, {}, collector(taken, tooLarge))
  const document = readYaml(pubspecText, 'pubspec.yaml')
  const pubspec = describePubspec(document)
  const texts = [...taken].map(([path, chunks]) => [path, utf8Of(Buffer.concat(chunks), maxSourceBytes)] as const)
  const sources = texts.filter(([path]) => isSource(path))
  return {
    pubspec,
    document,
    ...contents,
    tooLarge,
    notText: sources.filter(([, text]) => !isText(text)).map(([path]) => path),
    example: pickExample(examples, pubspec.name),
    sources: new Map(sources.filter(([, text]) => isText(text))),
    others: new Map(texts.filter(([path]) => !isSource(path))),
  }
}

/** Whether a decoded file is text: at most a tenth of it consists of replacement characters. Files in old encodings have a few. */
const isText = (text: string): boolean => text.split('\ufffd').length - 1 <= text.length / 10
const isSource = (path: string) => path.startsWith('lib/') && path.endsWith('.dart')
/** Build file that describes the Android part of a plugin. */
const isOther = (path: string) => /^android\/build\.gradle(?:\.kts)?$/.test(path)

function collector(taken: Map<string, Buffer[]>, tooLarge: string[]): FileVisitor {
  let bytes = 0
  return ({ path, size }) => {
    if (!isSource(path) && !isOther(path)) return undefined
    if (size > (isSource(path) ? maxSourceBytes : maxOtherBytes) || bytes + size > maxSourcesBytes) {
      if (isSource(path)) tooLarge.push(path)
      return undefined
    }
    bytes += size
    const chunks: Buffer[] = []
    taken.set(path, chunks)
    return (chunk) => void chunks.push(Buffer.from(chunk))
  }
}

const bytesOf = (files: readonly ArchiveFile[]): number => files.reduce((sum, { size }) => sum + size, 0)

/** Returns the unpacked sizes by kind of file, largest first. */
export const sizesOf = (files: readonly ArchiveFile[]): Report['sizes'] =>
  [...Map.groupBy(files, ({ path }) => kindOf(path))]
    .map(([kind, all]) => ({ kind, files: all.length, bytes: bytesOf(all) }))
    .toSorted((a, b) => b.bytes - a.bytes || (a.kind < b.kind ? -1 : 1))

/** Returns folders written by tools that users of the package do not need, with their sizes in bytes. */
export const findLeftovers = (files: readonly ArchiveFile[]): { folder: string; bytes: number }[] =>
  [...Map.groupBy(files, ({ path }) => leftover.exec(path)?.[0])].flatMap(([folder, all]) =>
    folder ? [{ folder, bytes: bytesOf(all) }] : [],
  )

const leftover =
  /^(?:(?:example\/)?(?:\.dart_tool|\.gradle|\.idea|\.vscode|\.git|build|node_modules|ios\/Pods|macos\/Pods|android\/\.gradle)|coverage|doc\/api)\//

function kindOf(path: string): string {
  if (!path.startsWith('lib/') && path.endsWith('.dart'))
    return /^(?:test|integration_test|example)\//.test(path) ? (path.split('/')[0]?.replace('integration_', '') ?? 'dart') : 'dart'
  const [, extension = ''] = /\.([a-z0-9]+)$/.exec(path.toLowerCase()) ?? []
  return kinds.get(extension) ?? 'other'
}

const kinds = new Map(
  Object.entries({
    dart: 'dart',
    image: 'png jpg jpeg gif webp svg ico bmp avif psd',
    font: 'ttf otf woff woff2',
    media: 'mp3 mp4 wav ogg m4a webm mov aac flac riv lottie glb',
    document: 'md txt pdf rst html',
    data: 'json yaml yml xml csv arb toml db sqlite',
    native: 'c cc cpp h hpp m mm swift java kt kts gradle rs go cmake podspec plist so dylib dll a jar aar framework xcframework',
    web: 'js ts css wasm map',
    archive: 'zip tar gz tgz xz 7z',
  }).flatMap(([kind, extensions]) => extensions.split(' ').map((extension) => [extension, kind] as const)),
)
