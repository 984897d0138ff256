import { expect, it } from 'vitest'
import { type Source, sources } from '../../support/sources.ts'

const server = sources('server/**/*.ts')

/** Where SQL is written as text: about one database, full-text search, and the tables of backups and moves. */
const withTexts = [
  'server/platform/db/',
  'server/platform/store/move.ts',
  'server/registry/search/',
  'server/operations/stats/',
  'server/operations/backup/',
  'server/operations/move/',
  'server/operations/checks/',
]

const isIn = (folders: string[], { path }: Source) => folders.some((folder) => path.startsWith(folder))

/** Returns the lines of a file that start an SQL statement as text. */
const textsOf = ({ path, text }: Pick<Source, 'path' | 'text'>): string[] =>
  text
    .split('\n')
    .flatMap((line, at) => (/['"`](?:select|insert into|update|delete from|with) [a-z_"$]/.test(line) ? [`${path}:${at + 1}`] : []))

/** Returns whether a file runs SQL through the ORM, whose rows are not converted. */
const runsTexts = ({ text }: Pick<Source, 'text'>): boolean => /\b(?:em|inner|outer)\s*\.execute\b/.test(text)

it('builds queries with `db`, so that the compiler checks tables and columns', () => {
  expect(server.filter((file) => !isIn(withTexts, file)).flatMap(textsOf)).toEqual([])
})

it('runs no text through the entity manager', () => {
  expect(server.filter(runsTexts).map(({ path }) => path)).toEqual([])
})

it('finds planted texts', () => {
  const file = (text: string) => ({ path: 'a.ts', text })
  for (const text of [
    "readRows(em, 'select id from packages')",
    'run(`insert into jobs (id)`)',
    'run("delete from uploads")',
    "'update uploads set'",
  ])
    expect(textsOf(file(`\n${text}`))).toEqual(['a.ts:2'])
  expect(textsOf(file("db.selectFrom('packages').select('id'); // with words"))).toEqual([])
  expect(['em.execute(x)', 'await inner.execute<Row[]>(x)', 'place.em\n  .execute(x)'].map((text) => runsTexts({ text }))).toEqual([
    true,
    true,
    true,
  ])
  expect(runsTexts({ text: 'connection.execute(x)' })).toBe(false)
})
