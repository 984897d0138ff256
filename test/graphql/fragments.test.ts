import { globSync, readFileSync } from 'node:fs'
import { parse } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rejectStackOverflow, rejectComplexFragments } from '../../server/platform/graphql/validation.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'

let app: TestApp
let alice: Actor
beforeAll(async () => {
  app = await testApp()
  alice = await app.member()
})
afterAll(() => app[Symbol.asyncDispose]())

/** Returns a query with `count` fragments. `spreads` returns the indexes of the fragments that a fragment spreads. */
function queryOf(count: number, spreads: (index: number) => number[]): string {
  const fragments = Array.from(
    { length: count },
    (_, index) =>
      `fragment F${index} on Package { name ${spreads(index)
        .map((other) => `...F${other}`)
        .join(' ')} }`,
  )
  return `{ package(name: "acme") { ...F0 } } ${fragments.join(' ')}`
}

const upTo = (count: number, ...others: number[]) => others.filter((other) => other < count)

it.each([
  ['a fragment that spreads itself', queryOf(1, () => [0]), /the fragment F0 spreads itself/],
  ['two fragments that spread each other', queryOf(2, (index) => [1 - index]), /the fragment F\d spreads itself/],
  ['a cycle of a hundred', queryOf(100, (index) => [(index + 1) % 100]), /the fragment F\d+ spreads itself/],
  [
    'a cycle of a hundred with three spreads each',
    queryOf(100, (index) => [1, 2, 3].map((step) => (index + step) % 100)),
    /the fragment F\d+ spreads itself/,
  ],
  [
    'a cycle that no operation uses',
    `{ __typename } fragment A on Package { ...B } fragment B on Package { ...A }`,
    /the fragment [AB] spreads itself/,
  ],
  ['a chain of a hundred', queryOf(100, (index) => upTo(100, index + 1)), /chains more than 16 fragments/],
  ['fragments that double each other', queryOf(12, (index) => upTo(12, index + 1, index + 1)), /spreads more than 1000 fragments/],
  [
    'a thousand spreads of one',
    `{ package(name: "a") { ${'...A '.repeat(1001)} } } fragment A on Package { name }`,
    /more than 1000 fragments/,
  ],
])('refuses %s without logging a failure', async (_what, query, message) => {
  for (let attempt = 0; attempt < 2; attempt++)
    expect(await alice.graphql(query)).toMatchObject({
      status: 400,
      body: { errors: [{ message: expect.stringMatching(message), extensions: { code: 'InvalidInput', field: 'query' } }] },
    })
  expect(app.lines.filter((line) => / ERROR |Maximum call stack/.test(line))).toEqual([])
})

it('accepts nested fragments', async () => {
  const chain = queryOf(16, (index) => upTo(16, index + 1))
  expect((await alice.graphql(chain)).body).toMatchObject({ data: { package: null } })
  const doubled = queryOf(8, (index) => upTo(8, index + 1, index + 1))
  expect((await alice.graphql(doubled)).body).toMatchObject({ data: { package: null } })
})

it('accepts the queries of the console', () => {
  const text = globSync('web/*/*.graphql').map((file) => readFileSync(file, 'utf8'))
  expect(() => rejectComplexFragments(parse(text.join('\n')))).not.toThrow()
})

it('refuses work that exceeds the stack as too complex and rethrows other errors', () => {
  const endless = (depth: number): number => endless(depth + 1) + 1
  expect(() => rejectStackOverflow(() => endless(0))).toThrow(expect.objectContaining({ code: 'InvalidInput' }))
  expect(() => rejectStackOverflow(() => JSON.parse('{'))).toThrow(SyntaxError)
  expect(rejectStackOverflow(() => 1)).toBe(1)
})
