import { expect, it } from 'vitest'
import { endsConnection, unavailable } from '../../../server/platform/db/unavailable.ts'

const coded = (code: string, more: object = {}) => Object.assign(new Error('It failed.'), { code, ...more })

it.each([
  ['a refused connection', coded('ECONNREFUSED', { syscall: 'connect' }), /not available/],
  ['a refused connection to every address of a name', new AggregateError([coded('ECONNREFUSED', { syscall: 'connect' })]), /not available/],
  ['a terminated connection', coded('57P01'), /not available/],
  ['too many clients', coded('53300'), /not available/],
  ['a starting server', coded('57P03'), /not available/],
  [
    'a database that does not accept connections',
    Object.assign(new Error('database "snug" is not currently accepting connections'), { code: '55000' }),
    /not available/,
  ],
  ['the cause of another error', Object.assign(new Error('A query failed.'), { cause: coded('08006') }), /not available/],
  ['a driver error without a code', new Error('Connection terminated unexpectedly'), /not available/],
  ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), /not available/],
  ['a lock', coded('55P03'), /busy/],
  ['a statement timeout', coded('57014'), /busy/],
  ['a locked SQLite file', coded('SQLITE_BUSY_SNAPSHOT'), /busy/],
  ['a full disk', coded('SQLITE_FULL'), /disk of the database is full/],
  ['a broken disk', coded('SQLITE_IOERR_FSYNC'), /not available/],
  ['a file when the process has too many', coded('EMFILE', { syscall: 'open' }), /too many open files/],
  ['a connection when the machine has too many files', coded('ENFILE', { syscall: 'connect' }), /too many open files/],
  [
    'a thread when the process has too many files',
    coded('ERR_WORKER_INIT_FAILED', { message: 'Worker initialization failure: EMFILE' }),
    /too many open files/,
  ],
  ['a write to a full disk', coded('ENOSPC', { syscall: 'write' }), /disk is full/],
  ['a write beyond a quota', coded('EDQUOT', { syscall: 'write' }), /disk is full/],
  ['a write to a read-only disk', coded('EROFS', { syscall: 'open' }), /storage of this server cannot be reached/],
  [
    'a read of a failing disk',
    Object.assign(new Error('It failed.'), { cause: coded('EIO', { syscall: 'read' }) }),
    /storage of this server/,
  ],
  ['a broken connection', coded('08P01', { message: 'server conn crashed?' }), /not available/],
])('returns 503 for %s', (_name, error, message) => {
  const failure = unavailable(error)
  expect(failure).toMatchObject({ code: 'ServiceUnavailable', status: 503, message: expect.stringMatching(message) })
  expect(failure?.retryAfter).toBeGreaterThan(0)
})

it.each([
  ['a duplicate key', coded('23505')],
  ['a violated constraint', coded('SQLITE_CONSTRAINT_UNIQUE')],
  ['a disconnected client', coded('ECONNRESET')],
  ['a missing file', coded('ENOENT', { syscall: 'open' })],
  ['a programming error', new TypeError('Cannot read properties of undefined')],
  ['U+0000 in a statement', coded('08P01', { routine: 'pq_getmsgend' })],
  ['no error at all', undefined],
])('does not return 503 for %s', (_name, error) => {
  expect(unavailable(error)).toBeNull()
})

it('discards connections that ended, but not those with a failed statement', () => {
  expect(endsConnection(coded('57P01'))).toBe(true)
  expect(endsConnection(new Error('Query read timeout'))).toBe(true)
  expect(endsConnection(coded('55P03'))).toBe(false)
  expect(endsConnection(coded('57014'))).toBe(false)
  expect(endsConnection(coded('23505'))).toBe(false)
})
