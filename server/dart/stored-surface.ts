import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { z } from 'zod'
import type { KnownPackage } from './reach.ts'
import { importsSchema } from './surface.ts'

/** What is stored of another package: `surface` is its public API in short as gzipped JSON, with what its libraries import; null before there is one. */
export type StoredPackage = Omit<KnownPackage, 'files'> & { surface: Uint8Array | null }

const decompress = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip)
const maxSurfaceBytes = 64 * 1024 ** 2

/** Reads a gzipped surface, or a part of it; null for one of another format: an engine of another version made it. */
export async function readSurface<T>(gzipped: Uint8Array, schema: z.ZodType<T>): Promise<T | null> {
  try {
    const json: unknown = JSON.parse((await decompress(gzipped, { maxOutputLength: maxSurfaceBytes })).toString())
    return schema.safeParse(json).data ?? null
  } catch {
    return null
  }
}

/** Reads what the libraries of other packages import, one after the other: surfaces are large. */
export async function readPackages(packages: Readonly<Record<string, StoredPackage>>): Promise<Map<string, KnownPackage>> {
  const known = new Map<string, KnownPackage>()
  for (const [name, { surface, ...said }] of Object.entries(packages)) {
    const files = surface && (await readSurface(surface, importsSchema))?.files
    known.set(name, { ...said, files: files ? new Map(files.map(({ path, imports }) => [path, imports])) : null })
  }
  return known
}
