import { setTimeout as sleep } from 'node:timers/promises'
import { ForeignKeyConstraintViolationException, NotFoundError, UniqueConstraintViolationException } from '@mikro-orm/core'
import { type ApiError, conflict, diskFull, serviceUnavailable, storageAway, tooManyOpenFiles } from '../../errors.ts'

/** Thrown by this program, not by a driver, when the database did not respond in time or is known to be down. */
export class DatabaseAway extends Error {
  readonly code = 'DATABASE_AWAY'
}

/** Thrown for writes to an SQLite file that is being moved to PostgreSQL or was moved. */
export class WritesRejected extends Error {
  readonly code: 'DATABASE_MOVING' | 'DATABASE_MOVED'

  constructor(state: 'moving' | 'moved') {
    super(state === 'moving' ? 'The database is being moved to PostgreSQL.' : 'The database was moved to PostgreSQL.')
    this.code = state === 'moving' ? 'DATABASE_MOVING' : 'DATABASE_MOVED'
  }
}

/** Thrown when a statement uses a table that another session keeps locked. */
export class TableLocked extends Error {
  readonly code = 'TABLE_LOCKED'
}

/**
 * Returns a 503 error if the database is down, busy or full, or if the operating system failed: a full or failing disk, or too many open files.
 * Otherwise null. A 401 instead would make package clients discard their token.
 */
export function unavailable(error: unknown): ApiError | null {
  for (const one of causesOf(error)) {
    const kind = kindOf(one)
    if (kind) return answers[kind]()
  }
  return null
}

/** Returns whether a write was rejected because the database is being moved or was moved. The log reports a move once, when it begins. */
export const isRejectedForMove = (error: unknown): boolean => causesOf(error).some((one) => ['moving', 'moved'].includes(kindOf(one) ?? ''))

/** Returns whether the database is full or read-only. Writes then fail immediately, while reads still work. */
export const isRejectedWrite = (error: unknown): boolean =>
  causesOf(error).some((one) => kindOf(one) === 'full' || one.code === readOnlyTransaction)

/** Returns whether the connection must be discarded after this error: it ended, or a late response may still arrive on it. */
export const endsConnection = (error: unknown): boolean =>
  causesOf(error).some((one) => kindOf(one) === 'away' && !rejections.has(String(one.code)))

/** Returns whether the process or the machine has too many open files. */
export const isOutOfFiles = (error: unknown): boolean => causesOf(error).some((one) => kindOf(one) === 'files')

/** Returns whether PostgreSQL rejected a new connection because of its limit. Open connections keep working. */
export const isOutOfConnections = (error: unknown): boolean => causesOf(error).some(({ code }) => code === '53300')

/**
 * Runs the work that opens a connection of a starting server, which no request waits for. Retries for 3 seconds while PostgreSQL is out of
 * connections, because the previous server may still hold them, and for 10 seconds while it responds too late, as on a busy machine.
 */
export async function retryAtStart<Value>(work: () => Promise<Value>): Promise<Value> {
  const started = performance.now()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const retryMs = isOutOfConnections(error) ? 3000 : isLate(error) ? 10_000 : 0
      if (performance.now() - started > retryMs) throw error
    }
    await sleep(100)
  }
}

const isLate = (error: unknown): boolean =>
  error instanceof DatabaseAway || causesOf(error).some(({ message }) => lateMessages.test(String(message)))

type DriverError = {
  code?: unknown
  routine?: unknown
  syscall?: unknown
  message?: unknown
  cause?: unknown
  originalError?: unknown
  errors?: unknown
}
type Kind = 'away' | 'busy' | 'full' | 'moving' | 'moved' | 'damaged' | 'files' | 'space' | 'disk'

const answers: Record<Kind, () => ApiError> = {
  away: () => serviceUnavailable('The database is not available at the moment. Try again in a few seconds.', 5),
  busy: () =>
    serviceUnavailable('The database is busy: another operation locks data that this request needs. Try again in a few seconds.', 2),
  full: () => serviceUnavailable('The disk of the database is full, so nothing was saved. An administrator must free some space.', 60),
  moving: () =>
    serviceUnavailable(
      "Nothing was saved: this server's database is being moved to PostgreSQL and is read-only until then. Try again in a few minutes.",
      60,
    ),
  moved: () =>
    serviceUnavailable(
      "Nothing was saved: this server's database was moved to PostgreSQL. An administrator must restart the server with PostgreSQL. Try again in a few minutes.",
      60,
    ),
  damaged: () =>
    serviceUnavailable(
      'The database or its search index is damaged. An administrator can check it with the command doctor, and rebuild the index with reindex.',
      60,
    ),
  files: tooManyOpenFiles,
  space: diskFull,
  disk: storageAway,
}

/** SQLSTATE codes of a healthy PostgreSQL that rejects one statement or one more connection. */
const readOnlyTransaction = '25006'
const rejections = new Set([readOnlyTransaction, '53200', '53300', '53400', '57014'])

function kindOf({ code, routine, syscall, message }: DriverError): Kind | null {
  // PostgreSQL could not read a message: a statement contains U+0000. The code is also that of a lost connection.
  if (code === '08P01' && String(routine).startsWith('pq_getmsg')) return null
  if (typeof code === 'string') {
    const kind = Object.entries(codes).find(([, pattern]) => pattern.test(code))?.[0]
    if (kind) return kind as Kind
    // A client disconnect has the same codes but no `syscall`, and a missing file has a different `syscall`.
    if (typeof syscall === 'string' && networkCalls.test(syscall) && networkCodes.test(code)) return 'away'
  }
  if (typeof message !== 'string') return null
  if (threadWithoutFiles.test(message)) return 'files'
  return lateMessages.test(message) || driverMessages.test(message) ? 'away' : missingIndex.test(message) ? 'damaged' : null
}

// SQLSTATE codes of PostgreSQL and extended result codes of SQLite.
const codes = {
  moving: /^DATABASE_MOVING$/,
  moved: /^DATABASE_MOVED$/,
  damaged: /^(?:XX00[12]|SQLITE_CORRUPT\w*|SQLITE_NOTADB)$/,
  full: /^(?:53100|SQLITE_FULL)$/,
  busy: /^(?:55P03|40001|40P01|57014|TABLE_LOCKED|SQLITE_(?:BUSY|LOCKED|PROTOCOL|ABORT)\w*)$/,
  away: /^(?:08\w{3}|28\w{3}|3D000|25006|25P0[34]|53\w{3}|57P\w{2}|58\w{3}|DATABASE_AWAY|SQLITE_(?:IOERR|CANTOPEN|READONLY|NOMEM)\w*)$/,
  files: /^E[MN]FILE$/,
  space: /^(?:ENOSPC|EDQUOT)$/,
  disk: /^(?:EROFS|EIO|ESTALE)$/,
}

const networkCalls = /^(?:connect|read|write|getaddrinfo)$/
const networkCodes = /^(?:ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT)$/

// Messages of `pg` and its pool that have no code, and PostgreSQL messages whose code is ambiguous.
const driverMessages =
  /^(?:Connection terminated|Query read timeout|Client (?:was closed|has encountered)|Cannot use a pool after|The database connection is not open|The server does not support SSL connections$|database ".*" is not currently accepting connections$)/

/** Matches the errors of `pg` and its pool for a timeout. */
const lateMessages = /^(?:timeout e(?:xceeded|xpired)|Connection terminated due to connection timeout$)/

/** Matches the error of Node for a thread that could not open its files. */
const threadWithoutFiles = /^Worker initialization failure: E[MN]FILE/

/** Matches the errors of SQLite and PostgreSQL for a missing table of the search index. */
const missingIndex = /(?:no such table: (?:main\.)?|relation ")package_search/

function causesOf(error: unknown, depth = 0): DriverError[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const coded: DriverError = error
  const further = [coded.cause, coded.originalError, ...(Array.isArray(coded.errors) ? (coded.errors as unknown[]) : [])]
  return [coded, ...further.flatMap((one) => causesOf(one, depth + 1))]
}

/**
 * Converts the error of a lost race into a conflict: a concurrent request deleted a row that the change needs, or inserted the same row. Returns null
 * for other errors.
 */
export function raceConflict(error: unknown): ApiError | null {
  if (error instanceof ForeignKeyConstraintViolationException || error instanceof NotFoundError)
    return conflict('An object required for this change was just deleted. Reload, then try again.')
  if (error instanceof UniqueConstraintViolationException)
    return conflict('Someone else made the same change at the same time. Reload, then try again.')
  return null
}
