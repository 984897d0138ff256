import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../access/context.ts'
import { ApiError, invalidInput } from '../../errors.ts'
import { sha256 } from '../http/keys.ts'

/** GraphQL documents of the console by SHA-256. The build writes them to a file; the scripts contain only the hashes. */
export type TrustedDocuments = ReadonlyMap<string, string>

/** Reads the documents written by the console's build. Empty if the console is not built. */
export function readDocuments(): TrustedDocuments {
  const files = globSync(join(import.meta.dirname, '../../../web/dist/assets/documents-*.json'))
  return new Map(files.flatMap((file) => Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)))
}

type Params = { query?: unknown; extensions?: unknown }
type Caller = Pick<Context, 'credential' | 'config'>

/**
 * Returns the query of a request: its own text, or the trusted document whose SHA-256 is given, as with persisted queries. A query text is returned
 * unchecked; the caller validates its type.
 * @throws ApiError InvalidInput for an invalid or unknown hash or one that does not match the query; InsufficientPermissions for an arbitrary query if
 * only requests with tokens may send them.
 */
export function queryOf(documents: TrustedDocuments, { query, extensions }: Params, { credential, config }: Caller): unknown {
  const hash = hashIn(extensions)
  const trusted = hash === undefined ? undefined : documents.get(hash)
  if (hash !== undefined && typeof query === 'string' && sha256(query) !== hash)
    throw invalidInput(`${hashField}: is not the SHA-256 of query.`, hashField)
  if (trusted !== undefined) return trusted
  const isFree = config.GRAPHQL_FREE_QUERIES === 'everybody' || credential?.kind === 'token'
  if (hash !== undefined && typeof query !== 'string') throw unknownDocument()
  if (typeof query === 'string' && !isFree) throw queryNeedsToken(hash !== undefined)
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

/**
 * Returns the error of an unknown hash. From its message, clients of automatic persisted queries (Apollo, urql) recognize that they must send the text
 * of this query and of later ones. From its `field`, the console recognizes the same (web/documents.ts).
 */
const unknownDocument = () => invalidInput('PersistedQueryNotSupported', hashField)

/** Returns the error of a query that needs a token. With `field`, the console tries again, since another instance may know its hash. */
const queryNeedsToken = (hasHash: boolean) =>
  new ApiError(
    'InsufficientPermissions',
    'This server accepts custom queries only with an access token. Send one in the Authorization header.',
    {
      ...(hasHash && { field: hashField }),
    },
  )
