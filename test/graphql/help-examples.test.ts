import { encodeGlobalID } from '@pothos/plugin-relay'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Kind, parse } from 'graphql'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { Package } from '../../server/registry/packages/entity.ts'
import { testApp, type TestApp } from '../app.ts'
import { subscribeAt } from '../support/events.ts'
import { publish } from '../support/publish.ts'
import { root } from '../support/sources.ts'

const page = readFileSync(join(root, 'web/help/graphql.md'), 'utf8')
const blocks = Array.from(page.matchAll(/^```(\w+)\n([^]*?)^```$/gm), ([, language = '', text = '']) => ({ language, text }))
const examples = blocks.filter(({ language }) => language === 'graphql').map(({ text }) => ({ name: nameOf(text), text }))

function nameOf(text: string): string {
  const [operation] = parse(text).definitions
  return operation?.kind === Kind.OPERATION_DEFINITION ? (operation.name?.value ?? '') : ''
}

const example = (name: string): string => {
  const found = examples.find((one) => one.name === name)
  if (!found) throw new Error(`The help page has no example ${name}.`)
  return found.text
}

/** Starts a server with the packages of the examples. */
async function exampleApp(): Promise<TestApp> {
  const app = await testApp()
  const admin = await app.admin()
  for (const name of ['our_widgets', 'our_icons']) await publish(admin, { name, version: '1.0.0' })
  return app
}

it('has a test for every example of the help page', () => {
  expect(examples.map(({ name }) => name).toSorted()).toEqual(
    ['DeletePackage', 'FindUser', 'Limits', 'Nodes', 'Packages', 'Progress', 'Refused'].toSorted(),
  )
})

it('answers the queries of the help page', async () => {
  await using app = await exampleApp()
  const admin = await app.admin()
  const ids = (await app.services.database.fork().findAll(Package)).map(({ id }) => encodeGlobalID('Package', id))
  const variables: Record<string, object> = { Nodes: { id: ids[0], ids } }
  const ask = async (name: string) => {
    const { body } = await admin.graphql(example(name), variables[name] ?? {})
    expect({ name, errors: body.errors }).toEqual({ name, errors: undefined })
    return body.data
  }
  const curl = /-d '(\{"query": .*\})'/.exec(page)?.[1]
  const answer = await admin.send('POST', '/graphql', JSON.parse(curl ?? ''))
  expect(answer.body).toMatchObject({ data: { package: { name: 'our_widgets', latest: { version: '1.0.0' } } } })
  expect(await ask('Packages')).toMatchObject({ packages: { totalCount: 2, nodes: [{ name: 'our_icons' }, { name: 'our_widgets' }] } })
  expect(await ask('Nodes')).toMatchObject({ nodes: ids.map((id) => ({ __typename: 'Package', id })) })
  expect(await ask('Limits')).toMatchObject({ rateLimit: { limit: 600, maxCost: 5000 } })
  expect(await ask('FindUser')).toEqual({ user: null, sessions: { nodes: [] } })
  expect(await ask('DeletePackage')).toEqual({ deletePackage: { deletedPackageId: expect.toBeOneOf(ids) } })
})

it('refuses a field as the help page shows', async () => {
  await using app = await testApp()
  const member = await app.member()
  const [shown] = blocks.filter(({ language }) => language === 'json').map(({ text }) => JSON.parse(text))
  shown.data.viewer.displayName = member.user.displayName
  expect((await member.graphql(example('Refused'))).body).toMatchObject(shown)
})

it('sends the events of the subscription of the help page', async () => {
  await using app = await testApp()
  const em = app.services.database.fork()
  const job = await em.transactional((inner) => enqueue(inner, { kind: 'task', subject: 'a' }, app.services.now()))
  const events = await subscribeAt(await app.listen(), (await app.admin()).secret, example('Progress'), {
    jobId: encodeGlobalID('Job', job),
  })
  expect(await events.next()).toEqual({ data: { jobProgress: { state: 'QUEUED', phase: null, done: 0, total: null } } })
  events.close()
})
