import type { ArchiveFile } from '../../registry/archive/tree.ts'
import type { Report } from './report.ts'

type Sizes = Report['sizes']

/** Returns the unpacked sizes by kind of file, largest first. */
export function sizesOf(files: readonly ArchiveFile[]): Sizes {
  const sizes = new Map<string, Sizes[number]>()
  for (const { path, size } of files) {
    const kind = kindOf(path)
    const sum = sizes.get(kind) ?? { kind, files: 0, bytes: 0 }
    sizes.set(kind, { kind, files: sum.files + 1, bytes: sum.bytes + size })
  }
  return [...sizes.values()].toSorted((a, b) => b.bytes - a.bytes || (a.kind < b.kind ? -1 : 1))
}

/** Returns folders written by tools that users of the package do not need, with their sizes in bytes. */
export function leftoversIn(files: readonly ArchiveFile[]): { folder: string; bytes: number }[] {
  const found = new Map<string, number>()
  for (const { path, size } of files) {
    const [folder] = leftover.exec(path) ?? []
    if (folder) found.set(folder, (found.get(folder) ?? 0) + size)
  }
  return [...found].map(([folder, bytes]) => ({ folder, bytes }))
}

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
