import { expect, it } from 'vitest'
import { readRows } from '../../server/platform/db/statements.ts'
import { testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'

it.each([
  ['names of listed packages', '/api/package-name-completion-data', /from "packages" as "p" where/, 'packages_listed_name'],
  [
    'discontinued packages',
    '{ managedPackages(first: 5, isDiscontinued: true) { totalCount } }',
    /count\(\*\).* from "packages" as "p" where/,
    'packages_discontinued_name',
  ],
  [
    'packages without a score',
    '{ managedPackages(first: 5, isAnalyzed: false) { totalCount } }',
    /count\(\*\).* from "packages" as "p" where/,
    'package_search_documents_score',
  ],
  [
    'the deletion of a publisher',
    '{ publisher(slug: "acme") { activity(first: 10) { totalCount } } }',
    /from .audit_entries. .*.kind. = /,
    'deleted_publisher',
  ],
  ['effects of policies of the mirror', '{ mirrorPolicyEffects { __typename } }', /from "mirror_decisions"/, 'mirror_decisions_effects'],
])('finds %s with an index', async (_what, request, statement, index) => {
  await using app = await testApp({ env: { UPSTREAM_URL: 'http://127.0.0.1:9' } })
  const admin = await app.admin()
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  const ask = () => (request.startsWith('/') ? admin.get(request) : admin.graphql(request))
  const { result, statements } = await attributeStatements(ask)
  expect(result.status).toBe(200)
  const logged = statements.find((one) => statement.test(one)) ?? ''
  const sql = logged.replace(/^\[query\] | \[took [^]*$/g, '').replace('`kind` = ?', "`kind` = 'publisher.deleted'") // as sent
  expect(sql).not.toBe('')
  if (app.config.DB_BACKEND !== 'sqlite') return // With so few rows, PostgreSQL reads the table.
  const plan = await readRows<{ detail: string }>(
    app.services.database.fork(),
    `explain query plan ${sql}`,
    sql.match(/\?/g)?.map(() => 1) ?? [],
  )
  expect(plan.map(({ detail }) => detail).join('\n')).toContain(index)
})
