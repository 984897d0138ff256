import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const path = (name: string) => `/api/packages/${name}/visibility`

/** Changes the visibility of a package with confirmation. */
const change = (actor: Actor, name: string, visibility: string, more: object = {}) =>
  actor.put(path(name), { visibility, confirm: name, ...more })

/** Publishes `app`, which depends on `ui`, which depends on `icons`, which depends on `app` in a cycle. */
async function withPackages(...owners: Actor[]) {
  const [first, second = first] = owners as [Actor]
  await publish(first, dependent('app', '1.0.0', ['ui'], ['lints']))
  await publish(first, { name: 'app', version: '2.0.0' })
  await publish(first, dependent('ui', '1.0.0', ['icons']))
  await publish(second, dependent('icons', '1.0.0', ['app']))
  await publish(first, { name: 'lints', version: '1.0.0' })
}

const publicNames = async (app: TestApp): Promise<string[]> => (await app.anonymous.get('/api/package-names')).body.packages

const kinds = async (app: TestApp) => {
  const { body } = await (await app.admin()).get('/api/admin/audit-log?kind=package.visibility_changed')
  return body.entries.map((entry: { package: string; summary: string }) => entry.summary.replace(/^.* made /, '')).toReversed()
}

describe('making a package public', () => {
  it('previews and includes private dependencies when exactly these are confirmed', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await withPackages(alice)
    expect(await alice.get(path('app'))).toMatchObject({
      status: 200,
      body: { visibility: 'private', permittedByEnvironment: true, enabled: true, requiresServerAdmin: false, viewerCanChange: true },
    })
    expect((await alice.post(`${path('app')}/preview`, { visibility: 'public' })).body).toEqual({
      visibility: 'public',
      closure: [
        { name: 'icons', chain: ['app', 'ui', 'icons'], viewerCanAdminister: true },
        { name: 'ui', chain: ['app', 'ui'], viewerCanAdminister: true },
      ],
      breaks: [],
    })
    for (const closure of [undefined, [], ['ui'], ['icons', 'ui', 'lints'], ['icons', 'lints']]) {
      const { status, body } = await change(alice, 'app', 'public', { closure })
      expect({ closure, status, code: body.error?.code }).toEqual({ closure, status: 409, code: 'Conflict' })
      expect(body.error.message).toContain('app -> ui -> icons')
      expect(body.error.message).toContain('closure: icons, ui.')
    }
    expect(await publicNames(app)).toEqual([])
    const { status, body } = await change(alice, 'app', 'public', { closure: ['ui', 'icons'] })
    // A client that lost the answer repeats the request.
    expect(await change(alice, 'app', 'public', { closure: ['ui', 'icons'] })).toMatchObject({ status: 200, body: { changed: [] } })
    expect({ status, body }).toMatchObject({ status: 200, body: { visibility: 'public', changed: ['app', 'icons', 'ui'] } })
    expect(await publicNames(app)).toEqual(['app', 'icons', 'ui'])
    expect((await app.anonymous.get('/api/packages/app')).body.versions).toHaveLength(2)
    expect(await kinds(app)).toEqual(['app public', 'icons public', 'ui public'])
    expect((await change(alice, 'app', 'public')).body.changed).toEqual([])
    expect(await kinds(app)).toHaveLength(3)
    expect((await change(alice, 'lints', 'public', { closure: ['app'] })).status).toBe(409)
  })

  it('skips dependencies that are already public and includes ones added since', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'icons', version: '1.0.0' })
    await publish(alice, dependent('ui', '1.0.0', ['icons']))
    expect((await change(alice, 'icons', 'public')).status).toBe(200)
    expect((await change(alice, 'ui', 'public')).status).toBe(200)
    await publish(alice, { name: 'fonts', version: '1.0.0' })
    await publish(alice, dependent('ui', '1.1.0', ['fonts']))
    expect((await app.anonymous.get('/api/packages/ui')).body.latest.version).toBe('1.0.0')
    expect((await change(alice, 'ui', 'public', { closure: ['fonts'] })).body.changed).toEqual(['fonts'])
    expect((await app.anonymous.get('/api/packages/ui')).body.latest.version).toBe('1.1.0')
  })

  it('ignores dependencies on other servers and the default registry', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    for (const name of ['http', 'path']) await publish(alice, { name, version: '1.0.0' })
    const pubspec = 'dependencies:\n  http: ^1.0.0\n  path:\n    hosted: https://pub.dev\n    version: any\n'
    await publish(alice, { name: 'acme', version: '1.0.0', pubspec })
    expect((await change(alice, 'acme', 'public')).body.changed).toEqual(['acme'])
  })

  it('requires permissions for every included package', async () => {
    await using app = await publicApp()
    const [alice, ben] = [await app.member(), await app.member()]
    await withPackages(alice, ben)
    const closure = ['icons', 'ui']
    expect((await alice.post(`${path('app')}/preview`, { visibility: 'public' })).body.closure).toMatchObject([
      { name: 'icons', viewerCanAdminister: false },
      { name: 'ui', viewerCanAdminister: true },
    ])
    const refused = await change(alice, 'app', 'public', { closure })
    expect(refused).toMatchObject({ status: 403, body: { error: { message: expect.stringContaining('icons') } } })
    expect(await publicNames(app)).toEqual([])
    expect((await change(await app.admin(), 'app', 'public', { closure })).status).toBe(200)
  })

  it('runs a constant number of statements at any depth', async () => {
    await using app = await publicApp()
    const admin = await app.admin()
    const counts: number[] = []
    for (const depth of [3, 9]) {
      for (let n = 0; n < depth; n++)
        await publish(admin, dependent(`d${depth}_${n}`, '1.0.0', n + 1 < depth ? [`d${depth}_${n + 1}`] : []))
      counts.push(await app.countQueries(() => admin.post(`${path(`d${depth}_0`)}/preview`, { visibility: 'public' })))
    }
    expect(counts[1]).toBe(counts[0])
  })
})

describe('making a package private', () => {
  it('is refused with the chains of broken dependents until accepted', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'icons', version: '1.0.0' })
    await publish(alice, { name: 'ui', version: '0.9.0' })
    await publish(alice, dependent('ui', '1.0.0', ['icons']))
    await publish(alice, dependent('app', '1.0.0', ['ui']))
    expect((await change(alice, 'app', 'public', { closure: ['icons', 'ui'] })).status).toBe(200)
    expect((await app.anonymous.get('/api/packages/ui')).body.latest.version).toBe('1.0.0')
    const chains = [
      ['app', 'ui', 'icons'],
      ['ui', 'icons'],
    ]
    expect((await alice.post(`${path('icons')}/preview`, { visibility: 'private' })).body).toEqual({
      visibility: 'private',
      closure: [],
      breaks: chains,
    })
    const { status, body } = await change(alice, 'icons', 'private')
    expect({ status, code: body.error.code }).toEqual({ status: 409, code: 'Conflict' })
    expect(body.error.message).toContain('app -> ui -> icons')
    expect(await publicNames(app)).toEqual(['app', 'icons', 'ui'])
    expect(await change(alice, 'icons', 'private', { acceptBreakage: true })).toMatchObject({
      status: 200,
      body: { visibility: 'private', changed: ['icons'] },
    })
    expect((await app.anonymous.get('/api/packages/icons')).status).toBe(401)
    // ui itself did not change, but what anonymous users may read of it did.
    expect((await app.anonymous.get('/api/packages/ui')).body.latest.version).toBe('0.9.0')
    expect((await change(alice, 'app', 'private')).status).toBe(200)
    expect(await kinds(app)).toEqual(['app public', 'icons public', 'ui public', 'icons private', 'app private'])
  })
})

describe('deletion of a public package', () => {
  it('hides versions that need it', async () => {
    await using app = await publicApp()
    const admin = await app.admin()
    await publish(admin, { name: 'icons', version: '1.0.0' })
    await publish(admin, { name: 'ui', version: '0.9.0' })
    await publish(admin, dependent('ui', '1.0.0', ['icons']))
    await change(admin, 'ui', 'public', { closure: ['icons'] })
    expect((await app.anonymous.get('/api/packages/ui')).body.latest.version).toBe('1.0.0')
    expect((await admin.delete('/api/admin/packages/icons?acceptBreakage=true')).status).toBe(200)
    expect((await app.anonymous.get('/api/packages/ui')).body.latest.version).toBe('0.9.0')
  })
})

describe('a change of visibility', () => {
  it('must be confirmed by the name and be an actual change', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    for (const body of [
      { visibility: 'public' },
      { visibility: 'public', confirm: 'acm' },
      { visibility: 'public', confirm: true },
      { visibility: 'secret', confirm: 'acme' },
      { confirm: 'acme' },
      { visibility: 'public', confirm: 'acme', closure: 'ui' },
      { visibility: 'private', confirm: 'acme', acceptBreakage: 'yes' },
    ])
      expect({ sent: body, ...(await alice.put(path('acme'), body)) }).toMatchObject({
        status: 400,
        body: { error: { code: 'InvalidInput' } },
      })
    expect(await publicNames(app)).toEqual([])
  })

  it('requires an administrator of the package with write scope', async () => {
    await using app = await publicApp()
    const [alice, ben, viewer] = [await app.member(), await app.member(), await app.viewer()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    for (const actor of [ben, viewer, await app.withScopes(alice, ['read'])])
      expect((await change(actor, 'acme', 'public')).status).toBe(403)
    for (const actor of [ben, viewer]) {
      expect((await actor.get(path('acme'))).status).toBe(403)
      expect((await actor.post(`${path('acme')}/preview`, { visibility: 'public' })).status).toBe(403)
    }
    expect((await change(alice, 'absent', 'public')).status).toBe(404)
    expect((await alice.get(path('absent'))).status).toBe(404)
    expect((await change(app.anonymous, 'acme', 'public')).status).toBe(401)
  })

  it('can be restricted to server administrators', async () => {
    await using app = await publicApp()
    const [alice, admin] = [await app.member(), await app.admin()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await admin.put('/api/admin/public-packages', { enabled: true, requiresServerAdmin: true })
    expect((await alice.get(path('acme'))).body).toMatchObject({ requiresServerAdmin: true, viewerCanChange: false })
    expect((await change(alice, 'acme', 'public')).status).toBe(403)
    expect((await change(admin, 'acme', 'public')).status).toBe(200)
    expect((await change(alice, 'acme', 'private')).status).toBe(403)
  })
})
