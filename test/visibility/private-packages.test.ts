import { afterAll, beforeAll, expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

// The names have the same length, so that answers that contain them do too.
const [hidden, absent] = ['hushed_vault', 'absent_thing']

let app: TestApp
let strangers: Record<string, Actor>

beforeAll(async () => {
  app = await publicApp()
  const [alice, reset] = [await app.member(), await app.member()]
  await publish(alice, { name: 'open_doorway', version: '1.0.0' })
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, dependent(hidden, version, ['open_doorway']))
  const session = await reset.session()
  await app.services.database.fork().execute('update users set must_change_password = true where id = ?', [reset.id])
  strangers = { anonymous: app.anonymous, 'with a wrong token': app.withToken('svc_pat_nothing'), 'who must change the password': session }
})
afterAll(() => app[Symbol.asyncDispose]())

const pathOf = (path: string, name: string) =>
  path.replace(':pkg', name).replace(':file', `${name}-1.0.0.tar.gz`).replace(':version', '1.0.0').replaceAll(/:\w+/g, 'acme')

/** Returns what `work` returned and the statements that it executed, without durations. */
async function observeStatements<Result>(work: () => Promise<Result>) {
  const { result, statements } = await attributeStatements(work)
  return { result, statements: statements.map((sql) => sql.replace(/\[took \d+ ms, /, '[')) }
}

/** Returns the visible parts of an answer and the executed statements. */
async function observe(actor: Actor, method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', name: string, path: string) {
  const body = method === 'GET' || method === 'HEAD' ? undefined : {}
  const { result, statements } = await observeStatements(() => actor.send(method, path, body, { ip: app.address() }))
  const { status, headers, raw } = result
  const text = JSON.stringify({ ...headers, date: '' }) + raw.toString()
  return { status, text: text.replaceAll(name, absent), statements }
}

const cases = routes.filter(({ path }) => /:(pkg|file)\b/.test(path)).map((route) => [`${route.method} ${route.path}`, route] as const)

it.each(cases)('does the same work for private and missing packages: %s', async (_name, { method, path }) => {
  for (const [who, actor] of Object.entries(strangers)) {
    for (const verb of method === 'GET' ? (['GET', 'HEAD'] as const) : [method]) {
      // The first request of a kind fills caches.
      await observe(actor, verb, absent, pathOf(path, absent))
      const there = await observe(actor, verb, hidden, pathOf(path, hidden))
      const none = await observe(actor, verb, absent, pathOf(path, absent))
      expect({ who, verb, ...there }).toEqual({ who, verb, ...none })
      // 400 is caused by the input, independently of the package.
      expect([400, 401, 403]).toContain(there.status)
    }
  }
})

it('does the same work for private and missing packages in GraphQL', async () => {
  const fields = 'name description latest { version dependencies { name isBare } } versions(first: 5) { totalCount } confusableWith'
  for (const actor of Object.values(strangers)) {
    const ask = async (name: string) => {
      const query = `{ package(name: "${name}") { ${fields} } }`
      const { result, statements } = await observeStatements(() => actor.graphql(query, {}, { ip: app.address() }))
      return { text: JSON.stringify(result.body).replaceAll(name, absent), statements }
    }
    await ask(absent)
    expect(await ask(hidden)).toEqual(await ask(absent))
  }
})
