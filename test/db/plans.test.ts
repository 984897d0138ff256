import SqliteDatabase from 'better-sqlite3'
import { expect, it } from 'vitest'
import { model, popular } from '../bench/copy-index.ts'
import { largePublisher } from '../bench/fill-activity.ts'
import { graphqlQueries, restPaths } from '../bench/request-list.ts'
import { type TestApp, testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { publish } from '../support/publish.ts'

/** Tables that grow with versions, downloads or what happens, of which a read must not visit every row. */
const growing = [
  'package_versions',
  'package_dependencies',
  'package_requirements',
  'package_dependents',
  'package_downloads',
  'version_downloads',
  'version_documents',
  'score_reports',
  'audit_entries',
]

/** Scans in the order of an index that end after a page of rows, by a part of their SQL. */
const pages: (string | RegExp)[] = [
  // Counts the reports of the server for the page of SDK settings.
  'from "score_reports" where "checks_percent" is not null) as "scored"',
  'order by "v"."id" desc limit 50',
  // Counts all entries for `totalCount`, which no index narrows.
  /^select count\(\*\) as total from `audit_entries` as `row`$/,
  /from `audit_entries`.* order by .*`id` desc limit \?/s,
]

/** Returns the scans of growing tables in the plan of a statement. */
function findScans(db: SqliteDatabase.Database, sql: string): string[] {
  const parameters = Array.from(sql.replaceAll(/'[^']*'/g, '').matchAll(/\?/g), () => null)
  const plan = db.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`).all(...parameters)
  const aliases = new Map(
    Array.from(sql.matchAll(/\b(?:from|join)\s+[`"]?(\w+)[`"]?(?:\s+(?:as\s+)?[`"]?(\w+)[`"]?)?/gi), ([, table = '', alias = table]) => [
      alias,
      table,
    ]),
  )
  return plan.flatMap(({ detail }) => {
    const name = /^SCAN (\w+)/.exec(detail)?.[1] ?? ''
    const table = growing.includes(name) ? name : (aliases.get(name) ?? '')
    return growing.includes(table) ? [`${detail} (${table})`] : []
  })
}

/** Returns whether the statement is the page of a list that is read in the order of an index. */
const isPage = (sql: string) => pages.some((page) => (typeof page === 'string' ? sql.includes(page) : page.test(sql)))

async function statementsOf(send: () => Promise<unknown>): Promise<string[]> {
  const { statements } = await attributeStatements(send)
  return [...new Set(statements)].filter((sql) => /^\s*(?:select|with)\b/i.test(sql))
}

async function fill(app: TestApp) {
  const owner = await app.owner()
  await owner.post('/api/publishers', { id: largePublisher, displayName: 'Publisher' })
  for (const name of [popular, model]) await publish(owner, { name, version: '1.0.0' })
  return owner
}

it('reads without visiting every row of a table that grows with versions or downloads', async ({ skip }) => {
  await using app = await testApp()
  if (app.services.database.backend !== 'sqlite') skip()
  const owner = await fill(app)
  const db = new SqliteDatabase(app.config.SQLITE_PATH, { readonly: true })
  const found: string[] = []
  const sends: [string, () => Promise<unknown>][] = [
    ...restPaths.map((path): [string, () => Promise<unknown>] => [`GET ${path}`, () => owner.get(path)]),
    ...Object.entries(graphqlQueries).map(([name, query]): [string, () => Promise<unknown>] => [name, () => owner.graphql(query)]),
  ]
  for (const [name, send] of sends) {
    for (const sql of await statementsOf(send)) {
      for (const scan of isPage(sql) ? [] : findScans(db, sql)) found.push(`${name}: ${scan}: ${sql}`)
    }
  }
  expect(found).toEqual([])
  // Statements that this test must find.
  for (const sql of [
    'select count(*) from package_versions',
    'select d.name from package_dependencies as d where d."constraint" = ?',
    'select p.name from packages p where exists (select 1 from version_downloads where day > ?)',
    'with recent as (select version_id from version_downloads w where w.downloads > 3) select * from recent',
  ])
    expect(findScans(db, sql), sql).toHaveLength(1)
  for (const sql of ['select version from package_versions where package_id = ?', 'select name from packages order by name'])
    expect(findScans(db, sql), sql).toEqual([])
  db.close()
})
