import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { z } from 'zod'
import type { KnownPackage } from './reachable-libraries.ts'
import { importsSchema } from './surface.ts'

/** Stored data of another package. `surface` is the summary of its public API and imports as gzipped JSON; null if it has not been analyzed yet. */
export type StoredPackage = Omit<KnownPackage, 'files'> & { surface: Uint8Array | null }

const decompress = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip)
const maxSurfaceBytes = 64 * 1024 ** 2

/**
 * Reads a gzipped surface, or the part of it that the schema describes. Returns null for another format, which a different version of the engine may
 * have written.
 */
export async function readSurface<T>(gzipped: Uint8Array, schema: z.ZodType<T>): Promise<T | null> {
  try {
    const json: unknown = JSON.parse((await decompress(gzipped, { maxOutputLength: maxSurfaceBytes })).toString())
    return schema.safeParse(json).data ?? null
  } catch {
    return null
  }
}

/** Reads the imports of other packages, one package at a time, because surfaces are large. */
export async function readPackages(packages: Readonly<Record<string, StoredPackage>>): Promise<Map<string, KnownPackage>> {
  const known = new Map<string, KnownPackage>()
  for (const [name, { surface, ...data }] of Object.entries(packages)) {
    const files = surface && (await readSurface(surface, importsSchema))?.files
    known.set(name, { ...data, files: files ? new Map(files.map(({ path, imports }) => [path, imports])) : null })
  }
  return known
}
