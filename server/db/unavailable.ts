import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiError, serviceUnavailable } from '../errors.ts'

/** The database did not answer in time, or is known to be away: said by this program, not by a driver. */
export class DatabaseAway extends Error {
  readonly code = 'DATABASE_AWAY'
}

/** Nothing is written to an SQLite file that is being moved to PostgreSQL, or was. */
export class WritesRefused extends Error {
  readonly code: 'DATABASE_MOVING' | 'DATABASE_MOVED'

  constructor(state: 'moving' | 'moved') {
    super(state === 'moving' ? 'The database is being moved to PostgreSQL.' : 'The database was moved to PostgreSQL.')
    this.code = state === 'moving' ? 'DATABASE_MOVING' : 'DATABASE_MOVED'
  }
}

/** Somebody keeps the table of a statement locked. */
export class TableLocked extends Error {
  readonly code = 'TABLE_LOCKED'
}

/**
 * The 503 for an error which says that the database is away, busy or full at the moment; null for any other error. Whoever asks for a token's
 * owner meanwhile must not be told that there is none: package clients throw a token away that was answered with 401.
 */
export function unavailable(error: unknown): ApiError | null {
  for (const one of causesOf(error)) {
    const kind = kindOf(one)
    if (kind) return answers[kind]()
  }
  return null
}

/** Whether nothing was written because the database is being moved, or was. The log says that once, when it begins. */
export const isRefusedForMove = (error: unknown): boolean => causesOf(error).some((one) => ['moving', 'moved'].includes(kindOf(one) ?? ''))

/** Whether the database is full or read-only: it refuses a write at once, and reads go on. */
export const isRefusedWrite = (error: unknown): boolean =>
  causesOf(error).some((one) => kindOf(one) === 'full' || one.code === readOnlyTransaction)

/** Whether a connection is of no use after this error, because it ended or because an answer may still arrive on it. */
export const endsConnection = (error: unknown): boolean =>
  causesOf(error).some((one) => kindOf(one) === 'away' && !refusals.has(String(one.code)))

/** Whether PostgreSQL takes no further connection; those that are open go on. */
export const isOutOfConnections = (error: unknown): boolean => causesOf(error).some(({ code }) => code === '53300')

/** Tries for three seconds when PostgreSQL has no connection to give: at a start, the server that is replaced may still have them. */
export async function patiently<Value>(work: () => Promise<Value>): Promise<Value> {
  const deadline = performance.now() + 3000
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isOutOfConnections(error) || performance.now() > deadline) throw error
    }
    await sleep(100)
  }
}

type Coded = { code?: unknown; syscall?: unknown; message?: unknown; cause?: unknown; originalError?: unknown; errors?: unknown }
type Kind = 'away' | 'busy' | 'full' | 'moving' | 'moved' | 'damaged'

const answers: Record<Kind, () => ApiError> = {
  away: () => serviceUnavailable('The database is not available at the moment. Try again in a few seconds.', 5),
  busy: () => serviceUnavailable('The database is busy: something else holds what this request needs. Try again in a few seconds.', 2),
  full: () => serviceUnavailable('The disk of the database is full, so nothing was saved. An administrator has to free space.', 60),
  moving: () =>
    serviceUnavailable(
      "Nothing was saved: this server's database is being moved to PostgreSQL, and can only be read meanwhile. Try again in a few minutes.",
      60,
    ),
  moved: () =>
    serviceUnavailable(
      "Nothing was saved: this server's database was moved to PostgreSQL. An administrator has to restart the server with it. Try again in a few minutes.",
      60,
    ),
  damaged: () =>
    serviceUnavailable(
      'The database or its search index is damaged. An administrator can check it with the command doctor, and rebuild the index with reindex.',
      60,
    ),
}

/** Refusals of a PostgreSQL that works: of one statement, or of one more connection. */
const readOnlyTransaction = '25006'
const refusals = new Set([readOnlyTransaction, '53200', '53300', '53400', '57014'])

function kindOf({ code, syscall, message }: Coded): Kind | null {
  if (typeof code === 'string') {
    const kind = Object.entries(codes).find(([, pattern]) => pattern.test(code))?.[0]
    if (kind) return kind as Kind
    // A client that hangs up has codes like these, but no system call; a missing file has another one.
    if (typeof syscall === 'string' && networkCalls.test(syscall) && networkCodes.test(code)) return 'away'
  }
  if (typeof message !== 'string') return null
  return driverMessages.test(message) ? 'away' : missingIndex.test(message) ? 'damaged' : null
}

// SQLSTATE, or the extended result codes of SQLite.
const codes = {
  moving: /^DATABASE_MOVING$/,
  moved: /^DATABASE_MOVED$/,
  damaged: /^(?:XX00[12]|SQLITE_CORRUPT\w*|SQLITE_NOTADB)$/,
  full: /^(?:53100|SQLITE_FULL)$/,
  busy: /^(?:55P03|40001|40P01|57014|TABLE_LOCKED|SQLITE_(?:BUSY|LOCKED|PROTOCOL|ABORT)\w*)$/,
  away: /^(?:08\w{3}|28\w{3}|3D000|25006|25P0[34]|53\w{3}|57P\w{2}|58\w{3}|DATABASE_AWAY|SQLITE_(?:IOERR|CANTOPEN|READONLY|NOMEM)\w*)$/,
}

const networkCalls = /^(?:connect|read|write|getaddrinfo)$/
const networkCodes = /^(?:ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT)$/

// What pg and its pool say without a code, or PostgreSQL with one that means other things, too.
const driverMessages =
  /^(?:Connection terminated|timeout e(?:xceeded|xpired)|Query read timeout|Client (?:was closed|has encountered)|Cannot use a pool after|The database connection is not open|The server does not support SSL connections$|database ".*" is not currently accepting connections$)/

/** A table of the search index is missing, in the words of SQLite or PostgreSQL. */
const missingIndex = /(?:no such table: (?:main\.)?|relation ")package_search/

function causesOf(error: unknown, depth = 0): Coded[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const coded: Coded = error
  const further = [coded.cause, coded.originalError, ...(Array.isArray(coded.errors) ? (coded.errors as unknown[]) : [])]
  return [coded, ...further.flatMap((one) => causesOf(one, depth + 1))]
}
