import type { TestApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { insertRows } from '../../server/platform/db/statements.ts'
import { fieldsOf, selectionsOf } from './field-selections.ts'
import { publish } from './publish.ts'

const files = { 'README.md': '# Hello', 'CHANGELOG.md': '## 1.1.0\n\n- New', 'example/main.dart': 'void main() {}', LICENSE: 'MIT' }
const nameOf = (index: number) => `p${String(index).padStart(2, '0')}`

/**
 * Publishes two versions of each of `count` packages, each by a user of its own. Groups of five depend on each other. `uploader` may publish all of
 * them.
 */
export async function publishMany(app: TestApp, count: number, uploader: Actor): Promise<Actor[]> {
  const people: Actor[] = []
  for (let index = 0; index < count; index++) {
    const person = await app.member()
    people.push(person)
    const others = [index - 1, index - 2].filter((other) => other >= 0 && Math.floor(other / 5) === Math.floor(index / 5))
    const needs = others.map((other) => `  ${nameOf(other)}:\n    hosted: http://localhost:8080\n    version: ^1.0.0`)
    const pubspec = needs.length > 0 ? `dependencies:\n${needs.join('\n')}` : ''
    for (const version of ['1.0.0', '1.1.0']) await publish(person, { name: nameOf(index), version, files, pubspec })
  }
  const { database } = app.services
  const packages = await database.reads.all<{ id: string }>('select id from packages')
  const rows = packages.map(({ id }) => ({ package_id: id, user_id: uploader.id }))
  await insertRows(database.fork(), 'package_uploaders', rows)
  return people
}

/** Types whose fields these tests select, in lists of each of them. */
const covered = ['Package', 'PackageVersion', 'User', 'Publisher']

type Asked = { queryOf: (size: number, selection: string) => string; caller: Actor; ip?: string; allowsErrors?: boolean }

/**
 * Counts the statements of each field of a type in a list of a few and of 50, or of as many as the query cost allows. Returns the selections that
 * take more statements in the long list, and selections that failed.
 */
export async function growingFields(app: TestApp, type: string, { queryOf, caller, ip, allowsErrors }: Asked): Promise<string[]> {
  const failures: string[] = []
  const count = async (size: number, selection: string) => {
    let cost: number | undefined
    const statements = await app.countQueries(async () => {
      const { body } = await caller.graphql(queryOf(size, selection), {}, ip === undefined ? {} : { ip: app.address() })
      const message: string | undefined = body.errors?.[0].message
      cost = Number(message?.match(/^This query costs (\d+)/)?.[1] ?? 0)
      if (message && !cost && !allowsErrors) failures.push(`${type}.${selection}: ${message}`)
    })
    return { statements, cost: cost ?? 0 }
  }
  for (const field of fieldsOf(type))
    for (const selection of selectionsOf(field, covered)) {
      let size = 50
      let many = await count(size, selection)
      for (; many.cost > 0; many = await count(size, selection)) size = Math.floor(Math.min(size - 1, (size * 5000) / many.cost))
      const few = await count(size < 15 ? 2 : 5, selection)
      // The second time, texts are cached, as they were for the few.
      if (many.statements > few.statements + pauses) many = await count(size, selection)
      if (many.statements > few.statements + pauses)
        failures.push(`${type}.${selection}: ${few.statements} → ${many.statements} statements for ${size} objects`)
    }
  return failures
}

/** A long request pauses, which may split a batch. */
const pauses = 3
