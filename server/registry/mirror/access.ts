import { expressionBuilder } from 'kysely'
import { insufficientPermissions } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { requireScope, unauthenticated } from '../../platform/access/guards.ts'
import { holdsScope } from '../../platform/access/policy.ts'
import { hmac } from '../../platform/http/keys.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { matchesName } from '../../platform/pub/package-name.ts'
import type { Config } from '../../platform/config/config.ts'
import { db, prepared, type Tables } from '../../platform/db/query.ts'
import { type EntryKey, keyOf, type MirrorServices } from './entries.ts'
import type { MirrorKind } from './entity.ts'

/** Whether there is a mirror that the caller may read. */
export const canReadMirror = (context: Context): boolean =>
  context.config.UPSTREAM_URL !== undefined && (context.viewer ? holdsScope(context, 'read') : context.config.UPSTREAM_ACCESS === 'open')

/** Checks that the caller may read the mirror: with the scope `read`, or anyone with UPSTREAM_ACCESS=open. @throws ApiError */
export function requireMirror(context: Context): void {
  if (context.viewer) requireScope(context, 'read')
  else if (context.config.UPSTREAM_ACCESS !== 'open') throw unauthenticated(context)
}

const eb = expressionBuilder<Tables>()

/** The name if it belongs to this server: of a package, or reserved after a deletion. Otherwise null. */
const ownName = (name: string) =>
  eb.fn.coalesce(
    eb.selectFrom('packages').select('name').where('name', '=', name),
    eb.selectFrom('reserved_names').select('name').where('name', '=', name),
  )

/** The own name, in one row, for a name in lower case. */
const ownNameOf = prepared((lower: string) => db.selectNoFrom(ownName(lower).as('own')))

/** Returns whether UPSTREAM_NEVER excludes a name from the mirror, in any spelling. */
export function isExcluded({ UPSTREAM_NEVER }: Pick<Config, 'UPSTREAM_NEVER'>, name: string): boolean {
  return UPSTREAM_NEVER.some((pattern) => matchesName(pattern, name))
}

/** Long enough that no package has the name of a decoy by chance. */
const decoyLength = 24
const decoyAttempts = 16

/**
 * Returns a name that is requested in place of one that is never taken from the upstream server, so that callers who are not signed in get the response
 * for an unknown name after the same time. It cannot be guessed from the name. Null if UPSTREAM_NEVER excludes all names.
 */
export function decoyName({ config, keys }: Pick<Context, 'config' | 'keys'>, name: string): string | null {
  for (let attempt = 0; attempt < decoyAttempts; attempt++) {
    const letters = hmac(keys.decoy, `${attempt} ${name}`).replace(/./g, (digit) => 'abcdefghijklmnop'[parseInt(digit, 16)] ?? '')
    const decoy = letters.slice(0, Math.max(decoyLength, name.length))
    if (!isExcluded(config, decoy)) return decoy
  }
  return null
}

/**
 * Returns the error for a name that is never taken from the upstream server. The package client prints the message of a 403.
 */
function ownNameError(context: Context, name: string, isHosted: boolean) {
  const { request, config } = context
  const hosted = `hosted: ${publicUrl(request, config.SERVER_URL)}`
  return insufficientPermissions(
    isHosted
      ? `${name} is hosted here: write "${hosted}" for this dependency in pubspec.yaml.`
      : `${name} is never taken from ${config.UPSTREAM_URL} (UPSTREAM_NEVER). If it is hosted here, write "${hosted}" for this dependency in pubspec.yaml.`,
  )
}

/** What one query reads for a request to the mirror. `sha256` and the dates are those of the listing. */
export type PackageState = {
  isOwn: boolean
  /** Text of the setting with the policies, or null. */
  policies: string | null
  sha256: string | null
  checkedAt: Date | null
  usedAt: Date | null
  /** Documents on which policies depend. `checkedAt` is null if they were not fetched yet. */
  advisories: DocumentRow
  score: DocumentRow
  /** The archive, if one was asked for and is in the mirror. */
  archive: { sha256: string; bytes: number; crc32c: string; usedAt: Date } | null
}

type DocumentRow = { sha256: string | null; checkedAt: Date | null }

/** Returns whether a name is never taken from the upstream server. */
export async function isOwnName({ config, database }: Pick<MirrorServices, 'config' | 'database'>, name: string): Promise<boolean> {
  const row = await database.reads.recall(ownNameOf, name.toLowerCase())
  return (row?.own ?? null) !== null || isExcluded(config, name)
}

const stateOf = prepared((lower: string, listing: string, archive: string | null, advisories: string, score: string) =>
  db
    .selectFrom(db.selectNoFrom(eb.lit(1).as('one')).as('single'))
    .leftJoin('mirror_entries as l', (join) => join.on('l.key', '=', listing))
    .leftJoin('mirror_entries as a', (join) => join.on('a.key', '=', eb.val(archive)))
    .leftJoin('mirror_entries as v', (join) => join.on('v.key', '=', advisories))
    .leftJoin('mirror_entries as s', (join) => join.on('s.key', '=', score))
    .select(['l.sha256', 'l.checked_at', 'l.used_at', 'v.sha256 as advisories_sha256', 'v.checked_at as advisories_checked_at'])
    .select(['s.sha256 as score_sha256', 's.checked_at as score_checked_at', 'a.sha256 as archive_sha256'])
    .select(['a.bytes as archive_bytes', 'a.crc32c as archive_crc32c', 'a.used_at as archive_used_at'])
    .select((row) => [
      ownName(lower).as('own'),
      row.selectFrom('server_settings').select('value').where('key', '=', 'mirror_policies').as('policies'),
    ]),
)

/** Reads the state of a package, and of an archive of it, with one query. On SQLite the row is cached until the next write. */
export async function packageState({ database }: Pick<MirrorServices, 'database'>, name: string, version?: string): Promise<PackageState> {
  const lower = name.toLowerCase()
  const archiveKey: EntryKey | null = version === undefined ? null : { kind: 'archive', name, version }
  const keyOfKind = (kind: MirrorKind) => keyOf({ kind, name })
  const keys = [keyOfKind('listing'), archiveKey && keyOf(archiveKey), keyOfKind('advisories'), keyOfKind('score')] as const
  const row = await database.reads.recall(stateOf, lower, ...keys)
  if (!row) throw new Error('A query without a table returned no row.')
  return {
    isOwn: row.own !== null,
    policies: row.policies,
    sha256: row.sha256,
    checkedAt: row.checked_at,
    usedAt: row.used_at,
    advisories: { sha256: row.advisories_sha256, checkedAt: row.advisories_checked_at },
    score: { sha256: row.score_sha256, checkedAt: row.score_checked_at },
    archive:
      row.archive_sha256 === null || row.archive_used_at === null
        ? null
        : {
            sha256: row.archive_sha256,
            bytes: row.archive_bytes ?? 0,
            crc32c: row.archive_crc32c ?? '',
            usedAt: row.archive_used_at,
          },
  }
}

/** Reads the state of a package for a caller who is signed in. @throws ApiError InsufficientPermissions for names that are never taken from upstream */
export async function admittedState(context: Context, name: string, version: string | undefined): Promise<PackageState> {
  const state = await packageState(context, name, version)
  if (state.isOwn || isExcluded(context.config, name)) throw ownNameError(context, name, state.isOwn)
  return state
}
