import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { makeOwned } from '../support/ownership.ts'
import { publish } from '../support/publish.ts'

const second = 1000
const week = 7 * 24 * 3600 * second

const options = (version: string) => `/api/packages/acme/versions/${version}/options`
const retract = (actor: Actor, version: string) => actor.put(options(version), { isRetracted: true })
const restore = (actor: Actor, version: string) => actor.put(options(version), { isRetracted: false })

/** Starts a server with these versions of a package and returns it with the uploader. */
async function publishedServer(versions: string[], env?: Record<string, string>) {
  const app = await testApp({ ...(env && { env }) })
  const alice = await app.member({ displayName: 'Alice' })
  for (const version of versions) await publish(alice, { name: 'acme', version, files: { 'README.md': `# Reads like ${version}\n` } })
  return { app, alice }
}

/** Returns the publication time of a version in milliseconds. */
async function publishedAt(actor: Actor, version: string): Promise<number> {
  return Date.parse((await actor.get(`/api/packages/acme/versions/${version}`)).body.published)
}

const setClock = (app: TestApp, moment: number) => (app.clock.now = new Date(moment))

describe('retraction of a version', () => {
  it('marks the version for clients with a date, keeps the archive and is recorded', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    expect(await alice.get(options('1.1.0'))).toMatchObject({ status: 200, body: { isRetracted: false, retractedAt: null } })
    const answer = await retract(alice, '1.1.0')
    expect(answer).toMatchObject({ status: 200, body: { isRetracted: true, retractedAt: expect.stringMatching(/Z$/) } })
    expect((await alice.get(options('1.1.0'))).body).toEqual(answer.body)
    const { body } = await alice.get('/api/packages/acme')
    expect(body.latest.version).toBe('1.0.0')
    expect(body.versions.map(({ version, retracted }: { version: string; retracted?: true }) => [version, retracted])).toEqual([
      ['1.0.0', undefined],
      ['1.1.0', true],
    ])
    expect(await alice.get('/api/packages/acme/versions/1.1.0')).toMatchObject({ status: 200, body: { retracted: true } })
    expect(await alice.get('/api/archives/acme-1.1.0.tar.gz')).toMatchObject({ status: 200 })
    const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
    expect(entries[0]).toMatchObject({
      kind: 'package.version_retracted',
      version: '1.1.0',
      summary: 'Alice retracted acme 1.1.0',
      agent: { userId: alice.id, displayName: 'Alice', email: alice.email },
    })
  })

  it('is undone by a restoration, which is recorded', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    await retract(alice, '1.1.0')
    expect(await restore(alice, '1.1.0')).toMatchObject({ status: 200, body: { isRetracted: false, retractedAt: null } })
    const { body } = await alice.get('/api/packages/acme')
    expect(body.latest.version).toBe('1.1.0')
    expect(JSON.stringify(body)).not.toContain('retracted')
    const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
    expect(entries[0]).toMatchObject({ kind: 'package.version_unretracted', version: '1.1.0', agent: { userId: alice.id } })
  })

  it('is possible until 7 days after publication', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    const until = (await publishedAt(alice, '1.1.0')) + week
    setClock(app, until + second)
    expect(await retract(alice, '1.1.0')).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'Conflict',
          message: `acme 1.1.0 was published at ${new Date(until - week).toISOString()} and could be retracted for 7 days, until ${new Date(until).toISOString()}. Publish a higher version instead.`,
        },
      },
    })
    expect((await alice.get(options('1.1.0'))).body.isRetracted).toBe(false)
    setClock(app, until - second)
    expect(await retract(alice, '1.1.0')).toMatchObject({ status: 200 })
  })

  it('can be undone until 7 days after the retraction', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    const retractedAt = (await publishedAt(alice, '1.1.0')) + week - second
    setClock(app, retractedAt)
    await retract(alice, '1.1.0')
    setClock(app, retractedAt + week + second)
    expect(await restore(alice, '1.1.0')).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'Conflict',
          message: `acme 1.1.0 was retracted at ${new Date(retractedAt).toISOString()} and could be restored for 7 days, until ${new Date(retractedAt + week).toISOString()}. Publish its contents as a higher version instead.`,
        },
      },
    })
    setClock(app, retractedAt + week - second)
    expect(await restore(alice, '1.1.0')).toMatchObject({ status: 200 })
    // The version was restored but published too long ago to be retracted again.
    expect(await retract(alice, '1.1.0')).toMatchObject({ status: 409 })
  })

  it('has no time limit without ENFORCE_RETRACTION_WINDOW', async () => {
    const { app, alice } = await publishedServer(['1.0.0'], { ENFORCE_RETRACTION_WINDOW: 'false' })
    await using _app = app
    setClock(app, Date.now() + 100 * week)
    expect(await retract(alice, '1.0.0')).toMatchObject({ status: 200 })
    setClock(app, Date.now() + 200 * week)
    expect(await restore(alice, '1.0.0')).toMatchObject({ status: 200 })
    const { body } = await alice.graphql(
      '{ package(name: "acme") { latest { retractableUntil restorableUntil viewerCanRetract viewerCanRestore } } }',
    )
    expect(body.data.package.latest).toEqual({
      retractableUntil: null,
      restorableUntil: null,
      viewerCanRetract: true,
      viewerCanRestore: false,
    })
  })

  it('is refused when repeated, as is a restoration', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    expect(await restore(alice, '1.0.0')).toMatchObject({
      status: 409,
      body: { error: { code: 'Conflict', message: 'acme 1.0.0 is not retracted, so there is nothing to restore.' } },
    })
    await retract(alice, '1.0.0')
    expect(await retract(alice, '1.0.0')).toMatchObject({
      status: 409,
      body: { error: { code: 'Conflict', message: expect.stringMatching(/^acme 1\.0\.0 is already retracted, since \d{4}-/) } },
    })
  })

  it('requires an uploader, an admin of the owning publisher or a server administrator', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'], { ENFORCE_RETRACTION_WINDOW: 'false' })
    await using _app = app
    const { admin: boss, member: helper } = await makeOwned(app, 'acme')
    const may = [alice, boss, await app.admin(), await app.owner()]
    const mayNot = [await app.member(), await app.viewer(), helper, await app.withScopes(alice, ['read'])]
    for (const actor of may) {
      expect(await retract(actor, '1.0.0')).toMatchObject({ status: 200 })
      expect(await restore(actor, '1.0.0')).toMatchObject({ status: 200 })
    }
    for (const actor of mayNot)
      expect(await retract(actor, '1.0.0')).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    expect(await retract(app.anonymous, '1.0.0')).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
    expect((await alice.get(options('1.0.0'))).body.isRetracted).toBe(false)
  })

  it('reports unknown versions and packages and invalid values', async () => {
    const { app, alice } = await publishedServer(['1.0.0'])
    await using _app = app
    expect(await retract(alice, '9.9.9')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    expect(await alice.get(options('9.9.9'))).toMatchObject({ status: 404 })
    for (const path of ['/api/packages/nothing/versions/1.0.0/options', '/api/packages/none/versions/1.0.0/options'])
      expect(await alice.put(path, { isRetracted: true })).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    for (const path of [
      options('one'),
      options('1.0'),
      '/api/packages/Acme/versions/1.0.0/options',
      '/api/packages/a%2Fb/versions/1.0.0/options',
    ]) {
      expect(await alice.get(path)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
      expect(await alice.put(path, { isRetracted: true })).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
    }
    for (const body of [{}, { isRetracted: null }, { isRetracted: 'true' }, { isRetracted: 1 }, { isRetracted: [true] }])
      expect(await alice.put(options('1.0.0'), body)).toMatchObject({
        status: 400,
        body: { error: { code: 'InvalidInput', message: expect.stringContaining('isRetracted') } },
      })
    expect((await alice.get(options('1.0.0'))).body.isRetracted).toBe(false)
  })

  it('shows the console the deadlines and permissions', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    const stranger = await app.member()
    const at = await publishedAt(alice, '1.1.0')
    const ask = async (actor: Actor) => {
      const query =
        '{ package(name: "acme") { version(version: "1.1.0") { retractableUntil restorableUntil viewerCanRetract viewerCanRestore } } }'
      return (await actor.graphql(query)).body.data.package.version
    }
    const until = new Date(at + week).toISOString()
    const open = { retractableUntil: until, restorableUntil: null, viewerCanRetract: true, viewerCanRestore: false }
    expect(await ask(alice)).toEqual(open)
    for (const actor of [stranger, await app.withScopes(alice, ['read'])])
      expect(await ask(actor)).toEqual({ ...open, viewerCanRetract: false })
    setClock(app, at + week + second)
    expect(await ask(alice)).toEqual({ ...open, viewerCanRetract: false })
    setClock(app, at + 1000 * second)
    await retract(alice, '1.1.0')
    const restorableUntil = new Date(at + 1000 * second + week).toISOString()
    expect(await ask(alice)).toEqual({ retractableUntil: null, restorableUntil, viewerCanRetract: false, viewerCanRestore: true })
    expect(await ask(stranger)).toMatchObject({ viewerCanRestore: false })
    setClock(app, at + 1000 * second + week + second)
    expect(await ask(alice)).toMatchObject({ viewerCanRestore: false })
  })

  it('is available as a GraphQL mutation', async () => {
    const { app, alice } = await publishedServer(['1.0.0', '1.1.0'])
    await using _app = app
    const change = (actor: Actor, isRetracted: boolean) =>
      actor.graphql(
        'mutation ($is: Boolean!) { updateVersionOptions(input: { package: "acme", version: "1.1.0", isRetracted: $is }) { version { isRetracted package { latest { version } } } } }',
        { is: isRetracted },
      )
    expect((await change(alice, true)).body.data.updateVersionOptions.version).toEqual({
      isRetracted: true,
      package: { latest: { version: '1.0.0' } },
    })
    expect((await change(alice, true)).body.errors[0].extensions.code).toBe('Conflict')
    expect((await change(alice, false)).body.data.updateVersionOptions.version.isRetracted).toBe(false)
    expect((await change(await app.member(), true)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  })
})
