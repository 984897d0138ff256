import { createReadStream } from 'node:fs'
import { pickExample, textOf, type TextFile } from '../archive/documents.ts'
import { describePubspec, type Pubspec } from '../archive/pubspec.ts'
import { readArchive, type ArchiveContents, type FileVisitor } from '../archive/read.ts'
import { type JsonObject, readYaml } from '../archive/yaml.ts'

/** What an analysis reads of a package. Nothing of it is written anywhere. */
export type PackageContents = Pick<ArchiveContents, 'readme' | 'changelog' | 'license' | 'files'> & {
  pubspec: Pubspec
  /** The whole pubspec. */
  document: JsonObject
  example: TextFile | null
  /** Sources below `lib/` by their path in the archive. */
  sources: Map<string, string>
  /** Sources below `lib/` that are too large to be read, by path. */
  tooLarge: string[]
  /** Files below `lib/` that are named as sources and are not text, by path. */
  notText: string[]
  /** The texts of the few other files whose content counts, by path. */
  others: Map<string, string>
}

/** Nobody writes so large a file; what is generated, such as a list of all icons, may have it. */
const maxSourceBytes = 8 * 1024 ** 2
const maxSourcesBytes = 24 * 1024 ** 2
const maxOtherBytes = 64 * 1024

/** Reads the archive, by the rules of publishing. @throws PackageRejected when it breaks one. */
export async function unpack(archive: string): Promise<PackageContents> {
  const taken = new Map<string, Buffer[]>()
  const tooLarge: string[] = []
  const { pubspecText, examples, readme, changelog, license, files } = await readArchive(
    createReadStream(archive, { highWaterMark: 256 * 1024 }),
    {},
    collector(taken, tooLarge),
  )
  const document = readYaml(pubspecText, 'pubspec.yaml')
  const pubspec = describePubspec(document)
  const texts = [...taken].map(([path, chunks]) => [path, textOf(Buffer.concat(chunks), maxSourceBytes)] as const)
  const sources = texts.filter(([path]) => isSource(path))
  return {
    pubspec,
    document,
    readme,
    changelog,
    license,
    files,
    tooLarge,
    notText: sources.filter(([, text]) => !isText(text)).map(([path]) => path),
    example: pickExample(examples, pubspec.name),
    sources: new Map(sources.filter(([, text]) => isText(text))),
    others: new Map(texts.filter(([path]) => !isSource(path))),
  }
}

/** Whether a file was text: of what is not, much becomes replacement characters. A few come from old encodings. */
const isText = (text: string): boolean => text.split('\ufffd').length - 1 <= text.length / 10

const isSource = (path: string) => path.startsWith('lib/') && path.endsWith('.dart')
/** How the Android part of a plugin is built. */
const isOther = (path: string) => /^android\/build\.gradle(?:\.kts)?$/.test(path)

function collector(taken: Map<string, Buffer[]>, tooLarge: string[]): FileVisitor {
  let bytes = 0
  return ({ path, size }) => {
    const most = isSource(path) ? maxSourceBytes : maxOtherBytes
    if (!isSource(path) && !isOther(path)) return undefined
    if (size > most || bytes + size > maxSourcesBytes) {
      if (isSource(path)) tooLarge.push(path)
      return undefined
    }
    bytes += size
    const chunks: Buffer[] = []
    taken.set(path, chunks)
    return (chunk) => void chunks.push(Buffer.from(chunk))
  }
}
