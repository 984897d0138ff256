import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { subscribeAt } from '../support/events.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { reportOf, storeReport } from '../support/reports.ts'

const query =
  'subscription ($package: String!) { versionScoreChanged(package: $package, version: "1.0.0") { version score { status grantedPoints } } }'

it('sends the score of a version and each change until it is final', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const events = await subscribeAt(await app.listen(), alice.secret, query, { package: 'acme' })
  const score = (status: string, grantedPoints: number | null) => ({
    data: { versionScoreChanged: { version: '1.0.0', score: { status, grantedPoints } } },
  })
  expect(await events.next()).toEqual(score('PENDING', null))
  await app.services.database.fork().execute("update jobs set state = 'running'")
  expect(await events.next()).toEqual(score('RUNNING', null))
  await storeReport(app, 'acme', reportOf(5, 9))
  expect(await events.next()).toEqual(score('COMPLETED', 5))
  expect(await events.next()).toBeNull()
})

it('requires permission to read the version', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['open', 'closed']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'open')
  for (const name of ['open', 'closed']) await storeReport(app, name, reportOf(1, 1))
  const address = await app.listen()
  const first = async (name: string) => (await subscribeAt(address, undefined, query, { package: name })).next()
  expect(await first('open')).toMatchObject({ data: { versionScoreChanged: { score: { status: 'COMPLETED' } } } })
  const [closed, absent] = [await first('closed'), await first('absent')]
  expect(closed).toMatchObject({ errors: [{ extensions: { code: 'NotFound' } }] })
  expect(closed.errors[0].message).toBe(absent.errors[0].message)
})
