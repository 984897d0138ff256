import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { advisory, importMutation } from '../support/advisories.ts'
import { publish } from '../support/publish.ts'

const bring = async (actor: Actor, ...advisories: object[]) => {
  const { body } = await actor.graphql(importMutation, { osv: JSON.stringify(advisories.length === 1 ? advisories[0] : advisories) })
  return body.errors ? body.errors[0] : body.data.importAdvisories
}
const changeAdvisory = (actor: Actor, mutation: string, osvId: string) =>
  actor.graphql(
    `mutation ($osvId: String!) { ${mutation}(input: { osvId: $osvId })${mutation === 'removeAdvisory' ? '' : ' { advisory { withdrawnAt } }'} }`,
    {
      osvId,
    },
  )
const readListing = async (actor: Actor) => (await actor.get('/api/packages/acme', { headers: { 'accept-encoding': 'identity' } })).body
const readAdvisories = async (actor: Actor) => (await actor.get('/api/packages/acme/advisories')).body
const untilFixed = { events: [{ introduced: '0' }, { fixed: '1.2.0' }] }
const at = (time: string) => new Date(`2026-02-01T${time}Z`)

describe("advisories in package clients (pub's protocol, Advisories)", () => {
  it('lists every affected version and updates the date in the listing', async () => {
    await using app = await testApp({ now: at('10:00:00') })
    const [admin, alice] = [await app.admin(), await app.member()]
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await publish(alice, { name: 'acme', version })
    expect(await readListing(alice)).not.toHaveProperty('advisoriesUpdated')
    app.clock.now = at('11:00:00')
    expect(await bring(admin, advisory('GHSA-1111', 'acme', untilFixed))).toEqual({ imported: ['GHSA-1111'], updated: [], unchanged: [] })
    expect((await readListing(alice)).advisoriesUpdated).toBe('2026-02-01T11:00:00.000Z')
    const answer = await alice.get('/api/packages/acme/advisories', { headers: { accept: 'application/vnd.pub.v2+json' } })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/vnd.pub.v2+json; charset=utf-8' } })
    expect(answer.body).toEqual({
      advisoriesUpdated: '2026-02-01T11:00:00.000Z',
      advisories: [
        {
          ...advisory('GHSA-1111', 'acme'),
          affected: [
            {
              package: { ecosystem: 'Pub', name: 'acme' },
              ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '1.2.0' }] }],
              versions: ['1.0.0', '1.1.0'],
            },
          ],
          database_specific: { pub_display_url: 'https://github.com/advisories/GHSA-1111' },
        },
      ],
    })
  })

  it('matches versions that are published later and updates the date for clients', async () => {
    await using app = await testApp({ now: at('10:00:00') })
    const [admin, alice] = [await app.admin(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await bring(admin, advisory('SNUG-1', 'acme', untilFixed))
    app.clock.now = at('09:00:00') // The clock of another instance may be behind, but the date must not go back.
    await publish(alice, { name: 'acme', version: '1.1.0' })
    expect((await readListing(alice)).advisoriesUpdated).toBe('2026-02-01T10:00:00.001Z')
    const { advisories, advisoriesUpdated } = await readAdvisories(alice)
    expect(advisoriesUpdated).toBe('2026-02-01T10:00:00.001Z')
    expect(advisories[0].affected[0].versions).toEqual(['1.0.0', '1.1.0'])
    expect(advisories[0].database_specific.pub_display_url).toBe('http://localhost:8080/packages/acme/advisories#SNUG-1')
    await publish(alice, { name: 'acme', version: '1.2.0' })
    expect((await readAdvisories(alice)).advisories[0].affected[0].versions).toEqual(['1.0.0', '1.1.0'])
  })

  it('matches a package that is published after its advisory', async () => {
    await using app = await testApp({ now: at('10:00:00') })
    const [admin, alice] = [await app.admin(), await app.member()]
    await bring(admin, advisory('SNUG-1', 'acme', untilFixed))
    app.clock.now = at('12:00:00')
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await publish(alice, { name: 'other', version: '1.0.0' })
    expect((await readListing(alice)).advisoriesUpdated).toBe('2026-02-01T12:00:00.000Z')
    expect((await readAdvisories(alice)).advisories).toHaveLength(1)
    expect((await alice.get('/api/packages/other')).body).not.toHaveProperty('advisoriesUpdated')
  })

  it('always contains a summary and aliases, and no other packages', async () => {
    await using app = await testApp()
    const [admin, alice] = [await app.admin(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const both = advisory('SNUG-1', 'acme', {
      summary: undefined,
      aliases: undefined,
      affected: [
        { package: { ecosystem: 'Pub', name: 'acme' }, versions: ['1.0.0'] },
        { package: { ecosystem: 'Pub', name: 'secret_project' }, versions: ['1.0.0'] },
        { package: { ecosystem: 'npm', name: '@acme/http' } },
      ],
    })
    expect(await bring(admin, both)).toMatchObject({ imported: ['SNUG-1'] })
    const { advisories } = await readAdvisories(alice)
    expect(advisories).toMatchObject([{ summary: 'What', aliases: [], affected: [{ package: { name: 'acme' }, versions: ['1.0.0'] }] }])
    expect(JSON.stringify(advisories)).not.toContain('secret_project')
  })
})

describe('administration of advisories', () => {
  it('ignores an identical import and never replaces an advisory with an older one', async () => {
    await using app = await testApp({ now: at('10:00:00') })
    const [admin, alice] = [await app.admin(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await publish(alice, { name: 'other', version: '1.0.0' })
    const first = advisory('SNUG-1', 'acme', untilFixed)
    await bring(admin, first)
    app.clock.now = at('11:00:00')
    for (const modified of [first.modified, '2026-01-09T23:59:59Z'])
      expect(await bring(admin, { ...first, modified, summary: 'Older' })).toEqual({ imported: [], updated: [], unchanged: ['SNUG-1'] })
    expect((await readListing(alice)).advisoriesUpdated).toBe('2026-02-01T10:00:00.000Z')
    const moved = { ...advisory('SNUG-1', 'other', untilFixed), modified: '2026-01-11T00:00:00Z' }
    expect(await bring(admin, moved, advisory('SNUG-2', 'acme', untilFixed))).toEqual({
      imported: ['SNUG-2'],
      updated: ['SNUG-1'],
      unchanged: [],
    })
    expect((await readAdvisories(alice)).advisories.map(({ id }: { id: string }) => id)).toEqual(['SNUG-2'])
    expect((await alice.get('/api/packages/other/advisories')).body.advisories).toHaveLength(1)
    const { entries } = (await admin.get('/api/admin/audit-log?kind=server.settings_updated')).body
    expect(entries.map(({ summary }: { summary: string }) => summary)).toEqual([
      `${admin.user.displayName} imported 2 security advisories: SNUG-2, SNUG-1`,
      `${admin.user.displayName} imported a security advisory: SNUG-1`,
    ])
  })

  it('withdraws an advisory, restores it by a newer import and removes it', async () => {
    await using app = await testApp({ now: at('10:00:00') })
    const [admin, alice] = [await app.admin(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await bring(admin, advisory('SNUG-1', 'acme', untilFixed))
    app.clock.now = at('11:00:00')
    expect((await changeAdvisory(admin, 'withdrawAdvisory', 'SNUG-1')).body.data.withdrawAdvisory.advisory.withdrawnAt).toBe(
      '2026-02-01T11:00:00.000Z',
    )
    expect(await readAdvisories(alice)).toEqual({ advisories: [], advisoriesUpdated: '2026-02-01T11:00:00.000Z' })
    expect((await readListing(alice)).advisoriesUpdated).toBe('2026-02-01T11:00:00.000Z')
    const { body } = await admin.graphql('{ advisories(first: 5) { totalCount nodes { osvId withdrawnAt osv } } }')
    expect(body.data.advisories).toMatchObject({ totalCount: 1, nodes: [{ osvId: 'SNUG-1', withdrawnAt: '2026-02-01T11:00:00.000Z' }] })
    expect(await bring(admin, advisory('SNUG-1', 'acme', untilFixed))).toMatchObject({ unchanged: ['SNUG-1'] })
    expect(await bring(admin, { ...advisory('SNUG-1', 'acme', untilFixed), modified: '2026-02-02T00:00:00Z' })).toMatchObject({
      updated: ['SNUG-1'],
    })
    expect((await readAdvisories(alice)).advisories).toHaveLength(1)
    expect((await changeAdvisory(admin, 'removeAdvisory', 'SNUG-1')).body.data.removeAdvisory).toBe(true)
    expect((await readAdvisories(alice)).advisories).toEqual([])
    for (const mutation of ['withdrawAdvisory', 'removeAdvisory'])
      expect((await changeAdvisory(admin, mutation, 'SNUG-1')).body.errors[0].extensions.code).toBe('NotFound')
  })

  it('reports what is wrong with an advisory and stores nothing of the list', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    const fine = advisory('SNUG-1', 'acme', untilFixed)
    const wrong: [object | string, RegExp][] = [
      ['{', /^osv: is not valid JSON/],
      [[], /^osv: contains no advisory/],
      [[fine, 'text'], /^osv: 1: /],
      [[fine, { ...fine, id: '../../etc' }], /^osv: 1\.id: /],
      [[fine, { ...fine, modified: 'yesterday' }], /^osv: 1\.modified: must be a moment/],
      [[fine, { ...fine, modified: '9999-12-31T23:59:59Z' }], /^osv: 1\.modified: must be before the year 9999/],
      ['['.repeat(50_000), /^osv: The JSON is nested deeper than 64 levels/],
      [{ ...fine, affected: [] }, /^osv: affected: names no package/],
      [{ ...fine, affected: [{ package: { ecosystem: 'npm', name: 'x' } }] }, /^osv: affected: names no package/],
      [advisory('SNUG-2', 'Not A Name'), /^osv: affected\.0\.package\.name: /],
      [advisory('SNUG-2', 'acme', { versions: ['v1'] }), /^osv: affected\.0\.versions\.0: must be a version/],
      [
        advisory('SNUG-2', 'acme', { events: [{ introduced: '1' }] }),
        /^osv: affected\.0\.ranges\.0\.events\.0\.introduced: must be a version/,
      ],
      [{ ...fine, references: [{ type: 'WEB', url: 'javascript:alert(1)' }] }, /^osv: references\.0\.url: /],
      [{ ...fine, database_specific: { pub_display_url: 'javascript:alert(1)' } }, /^osv: database_specific\.pub_display_url: /],
    ]
    for (const [osv, message] of wrong) {
      const { body } = await admin.graphql(importMutation, { osv: typeof osv === 'string' ? osv : JSON.stringify(osv) })
      expect(body.errors?.[0]).toMatchObject({
        message: expect.stringMatching(message),
        extensions: { code: 'InvalidInput', field: 'osv' },
      })
    }
    expect((await admin.graphql('{ advisories(first: 1) { totalCount } }')).body.data.advisories.totalCount).toBe(0)
  })

  it('lists all advisories with their packages to administrators only, page by page', async () => {
    await using app = await testApp()
    const [admin, alice] = [await app.admin(), await app.member()]
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await bring(admin, ...Array.from({ length: 7 }, (_, index) => advisory(`SNUG-${index}`, index ? 'elsewhere' : 'acme', untilFixed)))
    const query =
      'query ($after: String, $package: String) { advisories(first: 5, after: $after, package: $package) { totalCount nodes { osvId packages { name package { name } } } pageInfo { hasNextPage endCursor } } }'
    const first = (await admin.graphql(query)).body.data.advisories
    const second = (await admin.graphql(query, { after: first.pageInfo.endCursor })).body.data.advisories
    expect([first.totalCount, second.pageInfo.hasNextPage]).toEqual([7, false])
    expect(new Set([...first.nodes, ...second.nodes].map(({ osvId }) => osvId)).size).toBe(7)
    const of = (await admin.graphql(query, { package: 'acme' })).body.data.advisories
    expect(of).toMatchObject({ totalCount: 1, nodes: [{ packages: [{ name: 'acme', package: { name: 'acme' } }] }] })
    expect((await admin.graphql(query, { package: 'elsewhere' })).body.data.advisories.nodes[0].packages).toEqual([
      { name: 'elsewhere', package: null },
    ])
    const inside = '{ package(name: "acme") { advisories { advisory { packages { name } } } } }'
    expect((await alice.graphql(inside)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  })
})

it('shows the advisories of each version with a constant number of queries', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  await bring(admin, advisory('SNUG-1', 'acme', { ...untilFixed, database_specific: { severity: 'MEDIUM' } }))
  for (const version of ['1.0.0', '1.2.0']) await publish(alice, { name: 'acme', version })
  const query =
    '{ package(name: "acme") { advisories { url affectedVersions fixedVersions advisory { osvId severity detailsHtml } } versions(first: 50) { nodes { version advisories { advisory { osvId } } } } } }'
  const { package: pkg } = (await alice.graphql(query)).body.data
  expect(pkg.advisories).toEqual([
    {
      url: 'http://localhost:8080/packages/acme/advisories#SNUG-1',
      affectedVersions: ['1.0.0'],
      fixedVersions: ['1.2.0'],
      advisory: {
        osvId: 'SNUG-1',
        severity: 'MODERATE',
        detailsHtml:
          '<div class="heading"><h1 id="doc-what">What</h1><a class="heading-link" href="#doc-what" aria-label="Permalink: What">#</a></div>\n<p>acme forgets to <strong>check</strong>.</p>\n',
      },
    },
  ])
  const affected = (nodes: { version: string; advisories: object[] }[]) =>
    nodes.filter(({ advisories }) => advisories.length).map(({ version }) => version)
  expect(affected(pkg.versions.nodes)).toEqual(['1.0.0'])
  // Batching of lookups within a request depends on timing, so the minimum of several runs counts.
  const fewest = async () => {
    const counts: number[] = []
    for (let round = 0; round < 4; round++) counts.push(await app.countQueries(() => alice.graphql(query)))
    return Math.min(...counts)
  }
  const few = await fewest()
  await bring(admin, advisory('SNUG-2', 'acme', { versions: ['1.2.0'] }), advisory('SNUG-3', 'acme', untilFixed))
  for (const minor of [3, 4, 5]) await publish(alice, { name: 'acme', version: `0.${minor}.0` })
  expect(await fewest()).toBe(few)
})
