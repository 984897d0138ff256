import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { ZipFile } from 'yazl'
import { fakeDart } from './fake-sdk.ts'
import { xz } from './xz.ts'

type File = { path: string; content?: string | Buffer; mode?: number; link?: string }

/** Returns the files of a small Dart SDK archive. `ballast` adds a file of this many bytes. */
export const dartFiles = (version: string, { dart = fakeDart(version), ballast = 0 } = {}): File[] => [
  { path: 'dart-sdk/version', content: `${version}\n` },
  { path: 'dart-sdk/bin/dart', content: dart, mode: 0o755 },
  { path: 'dart-sdk/lib/core.dart', content: 'class Object {}\n' },
  ...(ballast > 0 ? [{ path: 'dart-sdk/lib/ballast', content: randomBytes(ballast) }] : []),
]

/** Returns the files of a small Flutter SDK archive. `ballast` adds a file of this many bytes. */
export const flutterFiles = (version: string, dartVersion: string, { dart = fakeDart(dartVersion), ballast = 0 } = {}): File[] => [
  { path: 'flutter/version', content: version },
  { path: 'flutter/bin/flutter', content: '#!/bin/sh\n', mode: 0o755 },
  { path: 'flutter/bin/cache/dart-sdk/bin/dart', content: dart, mode: 0o755 },
  { path: 'flutter/bin/dart', link: 'cache/dart-sdk/bin/dart' },
  ...(ballast > 0 ? [{ path: 'flutter/lib/ballast', content: randomBytes(ballast) }] : []),
]

export function zipOf(files: File[]): Promise<Buffer> {
  const zip = new ZipFile()
  for (const { path, content = '', mode = 0o644, link } of files)
    if (link === undefined) zip.addBuffer(Buffer.from(content), path, { mode: 0o100000 | mode })
    else zip.addBuffer(Buffer.from(link), path, { mode: 0o120777, compress: false })
  zip.end()
  return buffer(zip.outputStream)
}

export async function tarXzOf(files: File[]): Promise<Buffer> {
  const tar = pack()
  for (const { path, content = '', mode = 0o644, link } of files)
    if (link === undefined) tar.entry({ name: path, mode }, Buffer.from(content))
    else tar.entry({ name: path, type: 'symlink', linkname: link })
  tar.finalize()
  return xz(await buffer(tar))
}
