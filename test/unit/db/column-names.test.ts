import { expect, it } from 'vitest'
import { compile, db } from '../../../server/platform/db/query.ts'

// The type check of `npm run lint` fails if a line below `@ts-expect-error` is correct, so it proves that a renamed column is found wherever it is used.

it('refuses a column that no entity has, in conditions', () => {
  const known = db.selectFrom('packages').select('id').where('is_unlisted', '=', false)
  // @ts-expect-error The column is called is_unlisted.
  const unknown = db.selectFrom('packages').select('id').where('is_hidden', '=', false)
  expect([known, unknown].map((query) => compile(query).sql)).toEqual([
    'select "id" from "packages" where "is_unlisted" = ?',
    'select "id" from "packages" where "is_hidden" = ?',
  ])
})

it('refuses a column that no entity has, in joins and results', () => {
  const versions = db.selectFrom('package_versions as v')
  const known = versions.innerJoin('packages as p', 'p.id', 'v.package_id').select('v.archive_sha256 as hash')
  // @ts-expect-error The column is called package_id.
  const unknown = versions.innerJoin('packages as p', 'p.id', 'v.pkg_id')
  expect([known, unknown].map((query) => compile(query).sql)).toEqual([
    'select "v"."archive_sha256" as "hash" from "package_versions" as "v" inner join "packages" as "p" on "p"."id" = "v"."package_id"',
    expect.stringContaining('"v"."pkg_id"'),
  ])
  // @ts-expect-error The column is called archive_sha256.
  expect(compile(versions.select('v.sha256')).sql).toContain('"v"."sha256"')
})

it('refuses a column that no entity has, in changes', () => {
  const known = db.updateTable('jobs').set({ run_at: new Date(0) })
  // @ts-expect-error The column is called run_at.
  const unknown = db.updateTable('jobs').set({ due_at: new Date(0) })
  expect([known, unknown].map((query) => compile(query).sql)).toEqual(['update "jobs" set "run_at" = ?', 'update "jobs" set "due_at" = ?'])
  // @ts-expect-error The time is a Date.
  expect(compile(db.updateTable('jobs').set({ run_at: 'now' })).values).toEqual(['now'])
})
