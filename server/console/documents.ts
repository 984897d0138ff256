import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../access/context.ts'
import { ApiError, insufficientPermissions, invalidInput } from '../errors.ts'
import { sha256 } from '../http/keys.ts'

/** The texts of the console's operations, by their SHA-256. Its build writes them; its scripts have the hashes only. */
export type TrustedDocuments = ReadonlyMap<string, string>

/** Reads what the console's build has written; nothing when the console is not built. */
export function readDocuments(): TrustedDocuments {
  const files = globSync(join(import.meta.dirname, '../../web/dist/assets/documents-*.json'))
  return new Map(files.flatMap((file) => Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)))
}

type Params = { query?: unknown; extensions?: unknown }
type Caller = Pick<Context, 'credential' | 'config'>

/**
 * What a request asks: its own text, or that of the trusted document whose SHA-256 it names, as clients of persisted queries do. A text of its
 * own is given back as it came: whether it is one at all is for whoever reads it.
 * @throws ApiError InvalidInput for a hash that is none, or of another text; NotFound for one of no document; InsufficientPermissions for a
 * text of one's own where only tokens may send those.
 */
export function queryOf(documents: TrustedDocuments, { query, extensions }: Params, { credential, config }: Caller): unknown {
  const hash = hashIn(extensions)
  const trusted = hash === undefined ? undefined : documents.get(hash)
  if (hash !== undefined && typeof query === 'string' && sha256(query) !== hash)
    throw invalidInput(`${hashField}: is not the SHA-256 of query.`, hashField)
  if (trusted !== undefined) return trusted
  const isFree = config.GRAPHQL_FREE_QUERIES === 'everybody' || credential?.kind === 'token'
  if (hash !== undefined && !(typeof query === 'string' && isFree)) throw unknownDocument()
  if (typeof query === 'string' && !isFree)
    throw insufficientPermissions('This server takes queries of your own only with an access token: send one in the Authorization header.')
  return query
}

const place = 'extensions.persistedQuery'
const hashField = `${place}.sha256Hash`

function hashIn(extensions: unknown): string | undefined {
  const named = (extensions as { persistedQuery?: unknown } | null | undefined)?.persistedQuery
  if (named === undefined || named === null) return undefined
  const { version, sha256Hash } = named as { version?: unknown; sha256Hash?: unknown }
  if (version !== 1) throw invalidInput(`${place}.version: must be 1.`, `${place}.version`)
  if (typeof sha256Hash === 'string' && /^[0-9a-f]{64}$/.test(sha256Hash)) return sha256Hash
  throw invalidInput(`${hashField}: must be a SHA-256, 64 hexadecimal digits in lower case.`, hashField)
}

/** Its field tells the console that it is the text that is asked for (web/documents.ts). */
const unknownDocument = () =>
  new ApiError('NotFound', 'This server has no document with this hash. If it was upgraded since you opened the page, reload the page.', {
    field: hashField,
  })
