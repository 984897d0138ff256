import { z } from 'zod'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'

/** Name of the index in the folder of an export. Files are at `sha256/ab/cd/<hash>`, as in a blob store. */
export const indexFile = 'index.jsonl'

/** Longest line of the index, in characters. */
export const maxLineLength = 4096

/** First line of the index. */
const header = z.object({
  format: z.literal('snug-mirror'),
  version: z.literal(1),
  upstream: z.string().max(2000),
  exportedAt: z.iso.datetime(),
})
export type Header = z.infer<typeof header>

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const packageName = z.string().refine(isUpstreamName)
const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const checkedAt = z.iso.datetime()

const documentLine = z.strictObject({
  kind: z.enum(['listing', 'advisories', 'score', 'options', 'publisher']),
  name: packageName,
  sha256,
  bytes,
  checkedAt,
  etag: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/)
    .nullable(),
})
const namesLine = documentLine.extend({ kind: z.literal('names'), name: z.literal('') })
const version = z.string().refine((text) => parseVersion(text) !== null)
const attestationLine = documentLine.extend({ kind: z.literal('attestation'), version })
const archiveLine = z.strictObject({
  kind: z.literal('archive'),
  name: packageName,
  version,
  sha256,
  bytes,
  checkedAt,
})
const line = z.discriminatedUnion('kind', [documentLine, namesLine, attestationLine, archiveLine])

/** A further line of the index: a file of the mirror. */
export type Line = z.infer<typeof line>
export type ArchiveLine = z.infer<typeof archiveLine>
export type DocumentLine = Exclude<Line, ArchiveLine>

/** Parses the first line. Returns null if the folder was not exported by a version of this program that this one understands. */
export const parseHeader = (text: string): Header | null => header.safeParse(jsonOf(text)).data ?? null

/** Parses a further line. Returns null if it is invalid. */
export const parseLine = (text: string): Line | null => (text.length > maxLineLength ? null : (line.safeParse(jsonOf(text)).data ?? null))

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
