import { encodeGlobalID } from '@pothos/plugin-relay'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import { schema } from '../../server/schema.ts'
import type { Actor, Answer } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { askInBatches, type FieldAnswers, walk, type WalkArguments } from '../support/schema-walk.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

// The names have the same length, so that answers that contain them do too.
const [secret, absent, open] = ['hushed_vault', 'absent_thing', 'open_doorway']
const [noUser, noPackage, noVersion] = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`) as [string, string, string]

type World = { name: string; ids: Record<'User' | 'Package' | 'PackageVersion', string> }

let app: TestApp
let alice: Actor
/** Texts that must not appear in answers to anonymous users. */
let traces: string[]
let hidden: World
const missing: World = { name: absent, ids: { User: noUser, Package: noPackage, PackageVersion: noVersion } }
let shown: World

beforeAll(async () => {
  app = await publicApp()
  alice = await app.member({ email: 'alice@inside.example', displayName: 'Alice Inside' })
  await publish(alice, { name: secret, version: '1.0.0', files: { 'README.md': '# Confidential words' } })
  await publish(alice, { name: open, version: '1.0.0' })
  await publish(alice, dependent(open, '1.1.0', [], [secret]))
  await publish(alice, dependent(open, '2.0.0', [secret]))
  await publish(alice, dependent(secret, '2.0.0', [open]))
  await alice.put(`/api/packages/${open}/options`, { isDiscontinued: true, replacedBy: secret })
  const admin = await app.admin({ displayName: 'Ada Inside' })
  const publisher = { id: 'inside-corp', displayName: 'Corporation', contactEmail: 'contact@inside.example' }
  await expectSuccess(admin.post('/api/publishers', publisher))
  for (const name of [secret, open]) await expectSuccess(admin.put(`/api/packages/${name}/publisher`, { publisherId: publisher.id }))
  await makePublic(app, open)
  hidden = await worldOf(secret)
  shown = await worldOf(open)
  const people = await app.services.database.reads.all<{ id: string; email: string; display_name: string }>(
    'select id, email, display_name from users',
  )
  const withheld = await app.services.database.reads.all<{ id: string }>(
    "select v.id from package_versions v join packages p on p.id = v.package_id where p.name = ? or v.version = '2.0.0'",
    secret,
  )
  traces = [
    secret,
    'Confidential',
    'contact@inside.example',
    ...people.flatMap(({ id, email, display_name }) => [id, email, display_name, encodeGlobalID('User', id)]),
    hidden.ids.Package,
    ...withheld.map(({ id }) => id),
    encodeGlobalID('Package', hidden.ids.Package),
    ...withheld.map(({ id }) => encodeGlobalID('PackageVersion', id)),
  ]
})
afterAll(() => app[Symbol.asyncDispose]())

/** Throws if a preparation fails. Otherwise the crawl would have nothing to find and prove nothing. */
async function expectSuccess(answer: Promise<Answer>): Promise<void> {
  const { status, body } = await answer
  if (status >= 300) throw new Error(`Cannot prepare the walk: ${JSON.stringify(body)}`)
}

async function worldOf(name: string): Promise<World> {
  const row = await app.services.database.reads.get<{ package: string; version: string; person: string }>(
    `select p.id as package, v.id as version, v.published_by_id as person from packages p
     join package_versions v on v.package_id = p.id where p.name = ? and v.version = '1.0.0'`,
    name,
  )
  if (!row) throw new Error(`There is no ${name}`)
  return { name, ids: { User: row.person, Package: row.package, PackageVersion: row.version } }
}

const tracesIn = ({ headers, raw }: Answer): string[] => {
  const text = JSON.stringify(headers) + raw.toString()
  return traces.filter((trace) => text.includes(trace))
}

/** Returns the answer with the hidden names and ids replaced by those of missing objects. */
function withMissingNames({ status, headers, raw }: Answer): object {
  const pairs = [
    [hidden.name, missing.name],
    ...Object.keys(hidden.ids).flatMap((type) => {
      const [there, none] = [hidden.ids[type as keyof World['ids']], missing.ids[type as keyof World['ids']]]
      return [
        [there, none],
        [encodeGlobalID(type, there), encodeGlobalID(type, none)],
      ]
    }),
  ] as [string, string][]
  const text = JSON.stringify({ ...headers, date: '' }) + raw.toString()
  return { status, text: pairs.reduce((all, [from, to]) => all.replaceAll(from, to), text) }
}

describe('GET routes', () => {
  /** Returns the paths of a route with the package and each id in its parameters and query. */
  function pathsOf(route: (typeof routes)[number], { name, ids }: World): string[] {
    const filled = Object.values(ids).map((id) =>
      route.path
        .replaceAll(/:(pkg|package|name)\b/g, name)
        .replaceAll(':file', `${name}-1.0.0.tar.gz`)
        .replaceAll(':version', '1.0.0')
        .replaceAll(/:\w+/g, id),
    )
    const operation = route.kind === 'operation' ? route.operation : ''
    const texts = [...operation.matchAll(/\$(\w+): (?:String|ID)\b/g)].map(([, variable = '']) => variable)
    const asked = texts.filter((variable) => !route.path.includes(`:${variable}`)).map((variable) => `${variable}=${name}`)
    return [...new Set(filled)].flatMap((path) => [path, ...asked.map((query) => `${path}?${query}`)])
  }

  const cases = routes.filter(({ method }) => method === 'GET').map((route) => [route.path, route] as const)

  it.each(cases)('show no trace of a private package or a user: %s', async (_path, route) => {
    for (const path of pathsOf(route, shown)) expect({ path, found: tracesIn(await app.anonymous.get(path)) }).toEqual({ path, found: [] })
    const absentPaths = pathsOf(route, missing)
    for (const [index, path] of pathsOf(route, hidden).entries()) {
      // Avatars are public, and the path contains the id of the user.
      if (path.endsWith('/avatar') || path === absentPaths[index]) continue
      for (const method of ['GET', 'HEAD'] as const) {
        for (const headers of [{}, { range: 'bytes=0-9' }, { 'if-none-match': '*' }] as Record<string, string>[]) {
          const answers = [path, absentPaths[index] ?? ''].map((one) =>
            app.anonymous.send(method, one, undefined, { headers, ip: app.address() }),
          )
          const [there, none] = (await Promise.all(answers)) as [Answer, Answer]
          expect({ path, method, headers, ...withMissingNames(there) }).toEqual({ path, method, headers, ...withMissingNames(none) })
        }
      }
    }
  })

  it.each(['/', '/robots.txt', '/packages', '/api/docs', '/api/docs/openapi.json'])('show no trace either: %s', async (path) => {
    expect(tracesIn(await app.anonymous.get(path))).toEqual([])
  })

  it('show the same page of the console for a private and an absent package', async () => {
    const headers = { headers: { accept: 'text/html' } }
    const [there, none] = await Promise.all([secret, absent].map((name) => app.anonymous.get(`/packages/${name}`, headers)))
    expect(there?.status).toBe(404)
    expect(there && withMissingNames(there)).toEqual(none && withMissingNames(none))
  })
})

describe('fields of GraphQL', () => {
  const wordsOf = ({ name, ids }: World): WalkArguments[] => [
    ...Object.entries(ids).map(([type, id]) => ({ name, type, id })),
    // A prefix of the name, as typed into a search box.
    { name: name.slice(0, 6), type: 'Package', id: ids.Package },
  ]
  const isAnswer = (data: unknown) => data !== undefined && !/(null|\{\}|\[\])[}\]]*$/.test(JSON.stringify({ data }))
  // Each query comes from a new address, because queries per minute are limited by address.
  const ask = (actor: Actor, query: string) => actor.graphql(query, {}, { ip: app.address() })
  const answersIn = (told: FieldAnswers[]) => told.flatMap(({ fields }) => fields.map(({ data }) => isAnswer(data)))

  it('show no trace of a private package or a user', async () => {
    const found: object[] = []
    const answered = new Set<string>()
    await walk(schema, wordsOf(shown), async (asked) => {
      const told = await askInBatches(asked, (query) => ask(app.anonymous, query))
      for (const { query, answer, fields } of told) {
        found.push(...tracesIn(answer).map((trace) => ({ query, trace })))
        for (const { asked: one, data } of fields) if (isAnswer(data)) answered.add(one.path)
      }
      return answersIn(told)
    })
    expect(found).toEqual([])
    expect(
      unmatchedEndings(answered, ['package.name', '.latest.version', '.nodes.name', 'packageNames', '... on PackageVersion.version']),
    ).toEqual([])
  })

  it('answer alike for private and missing objects', async () => {
    const pairs: { query: string; same: string; there: Answer }[] = []
    const [secrets, absences] = [wordsOf(hidden), wordsOf(missing)]
    await walk(schema, secrets, async (asked) => {
      const told = await askInBatches(asked, (query) => ask(app.anonymous, query))
      for (const { query, answer: there } of told) {
        const same = secrets.reduce((text, words, index) => replaceWorld(text, words, absences[index] ?? words), query)
        if (same !== query) pairs.push({ query, same, there })
      }
      return answersIn(told)
    })
    for (const { query, same, there } of pairs) {
      const none = await ask(app.anonymous, same)
      expect({ query, is: withMissingNames(there) }).toEqual({ query, is: withMissingNames(none) })
    }
    expect(pairs.length).toBeGreaterThan(10)
  })

  it('show traces to signed-in users everywhere, which proves that the crawl finds them', async () => {
    const everywhere = ['package.name', '.uploaders.email', '.nodes.name', 'packageNames']
    const seen = new Set<string>()
    // Several readers in turn, because queries per minute are limited by account.
    const readers = await Promise.all(Array.from({ length: 5 }, () => app.viewer()))
    let turn = 0
    const nextReader = () => readers[turn++ % readers.length] ?? app.anonymous
    await walk(schema, wordsOf(hidden), async (asked) => {
      if (unmatchedEndings(seen, everywhere).length === 0) return asked.map(() => false) // All expected paths were seen.
      const told = await askInBatches(asked, (query) => ask(nextReader(), query))
      for (const { asked: one, data } of told.flatMap(({ fields }) => fields))
        if (traces.some((trace) => JSON.stringify(data)?.includes(trace))) seen.add(one.path)
      return answersIn(told)
    })
    expect(unmatchedEndings(seen, everywhere)).toEqual([])
  })
})

const globalId = ({ type, id }: WalkArguments) => encodeGlobalID(type, id)
const replaceWorld = (query: string, from: WalkArguments, to: WalkArguments) =>
  query.replaceAll(JSON.stringify(from.name), JSON.stringify(to.name)).replaceAll(globalId(from), globalId(to))

/** Returns the suffixes that no path has. The same field is queried by only one of several paths. */
const unmatchedEndings = (paths: Set<string>, endings: string[]) =>
  endings.filter((ending) => ![...paths].some((path) => path.endsWith(ending)))
