import { createHash } from 'node:crypto'
import { createWriteStream, globSync, lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'

type Archive = { path: string; bytes: number; sha256: string }

/** Packs a folder into a .tar.gz next to it. The archive is reproducible: it contains no times, user names or absolute paths. */
export async function writeArchive(folder: string, name: string): Promise<Archive> {
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
