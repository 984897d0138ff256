import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { storeDownloads } from '../support/download-history.ts'
import { publish } from '../support/publish.ts'
import { root } from '../support/sources.ts'

const page = readFileSync(join(root, 'web/help/recipes.md'), 'utf8')
const blocks = Array.from(page.matchAll(/^```(\w+)\n([^]*?)^```$/gm), ([, language = '', text = '']) => ({ language, text }))
const commands = blocks.flatMap(({ language, text }) => (language === 'sh' && text.startsWith('node ') ? [text.trim()] : []))
const used = new Set<string>()
const folder = mkdtempSync(join(tmpdir(), 'snug-recipes-'))

beforeAll(() => {
  for (const { language, text } of blocks)
    if (language === 'js') writeFileSync(join(folder, /^\/\/ ([\w-]+\.mjs)\n/.exec(text)?.[1] ?? 'unnamed.mjs'), text)
  writeFileSync(join(folder, 'people.csv'), blocks.find(({ language }) => language === 'csv')?.text ?? '')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the command that the page shows for a script, in a shell. `values` replaces what the page leaves open. */
async function run(app: TestApp, { secret = '' }: Actor, script: string, values: Record<string, string> = {}) {
  const shown = commands.find((command) => command.startsWith(`node ${script}`)) ?? /node \S*rotate\.mjs .*/.exec(page)?.[0] ?? ''
  used.add(shown)
  const command = Object.entries(values).reduce((text, [from, to]) => text.replace(from, to), shown)
  const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, SNUG_URL: await addressOf(app), SNUG_TOKEN: secret }
  return new Promise<{ code: number; out: string[]; err: string }>((resolve) => {
    execFile('sh', ['-c', command], { cwd: folder, env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out: out.split('\n').filter(Boolean), err }),
    )
  })
}

const addresses = new Map<TestApp, string>()
async function addressOf(app: TestApp): Promise<string> {
  const address = addresses.get(app) ?? (await app.listen())
  addresses.set(app, address)
  return address
}

/** Starts a server with an administrator, and the publisher acme with alice as its admin. */
async function registry() {
  const app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member({ email: 'alice@example.com' })]
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  return { app, admin, alice, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

const publishAll = async (actor: Actor, names: string[], version = '1.0.0') => {
  for (const name of names) await publish(actor, { name, version })
}

it('has ten recipes', () => expect(page.match(/^## /gm)).toHaveLength(10))

it('adds people from a CSV file, and reports rows that fail', async () => {
  await using t = await registry()
  const first = await run(t.app, t.admin, 'add-people')
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toEqual([expect.stringMatching(/^ada@example\.com\thttp/), expect.stringMatching(/^grace@example\.com\thttp/)])
  const { body } = await t.admin.get('/api/admin/users?email=grace@example.com')
  expect(body.users).toMatchObject([{ displayName: 'Grace Hopper', role: 'viewer', status: 'invited' }])
  const again = await run(t.app, t.admin, 'add-people')
  expect(again).toMatchObject({ code: 1, out: [], err: expect.stringContaining('ada@example.com\tPOST /api/admin/users: ') })
  expect(await run(t.app, t.alice, 'add-people')).toMatchObject({ code: 1, out: [] })
})

it('finds packages without owners', async () => {
  await using t = await registry()
  const gone = await t.app.member({ email: 'gone@example.com' })
  await publishAll(gone, ['left_behind'])
  await publishAll(t.alice, ['kept'])
  expect((await run(t.app, t.admin, 'ownerless')).out).toEqual([])
  await t.admin.put(`/api/admin/users/${gone.id}`, { isActive: false })
  expect(await run(t.app, t.admin, 'ownerless')).toEqual({ code: 0, out: ['left_behind\tgone@example.com'], err: '' })
})

it('finds stale tokens', async () => {
  await using t = await registry()
  t.app.clock.now = new Date(Date.now() - 100 * 24 * 60 * 60 * 1000)
  await t.app.member({ email: 'old@example.com' })
  t.app.clock.now = null
  const { code, out } = await run(t.app, t.admin, 'stale-tokens')
  expect([code, out.map((line) => line.split('\t')[0])]).toEqual([0, ['old@example.com']])
  expect(out[0]).toMatch(/\tsvc_pat_\w+\t.+\tnever expires$/)
})

it('lists everything that a publisher owns', async () => {
  await using t = await registry()
  await publishAll(t.alice, ['our_icons'])
  await t.alice.put('/api/packages/our_icons/publisher', { publisherId: 'acme' })
  await t.alice.post('/api/publishers/acme/service-accounts', { name: 'Robot' })
  expect(await run(t.app, t.alice, 'inventory')).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(readFileSync(join(folder, 'acme.json'), 'utf8'))).toMatchObject({
    slug: 'acme',
    members: expect.arrayContaining([{ role: 'ADMIN', user: { email: 'alice@example.com' } }]),
    packages: { totalCount: 1, nodes: [{ name: 'our_icons', latest: { version: '1.0.0' } }] },
    serviceAccounts: [{ name: 'Robot', tokens: { nodes: [] } }],
  })
})

it('discontinues packages', async () => {
  await using t = await registry()
  await publishAll(t.alice, ['our_widgets', 'old_buttons', 'old_icons'])
  expect(await run(t.app, t.alice, 'discontinue')).toMatchObject({ code: 0, out: [expect.anything(), expect.anything()] })
  for (const name of ['old_buttons', 'old_icons'])
    expect((await t.alice.get(`/api/packages/${name}/options`)).body).toMatchObject({ isDiscontinued: true, replacedBy: 'our_widgets' })
})

it('moves packages to a publisher', async () => {
  await using t = await registry()
  await publishAll(t.alice, ['our_icons', 'our_fonts'])
  expect(await run(t.app, t.alice, 'move')).toMatchObject({ code: 0, err: '' })
  for (const name of ['our_icons', 'our_fonts'])
    expect((await t.alice.get(`/api/packages/${name}/publisher`)).body).toEqual({ publisherId: 'acme' })
})

it('prints what a person did in a time range, on all pages of the audit log', async () => {
  await using t = await registry()
  const ada = await t.app.member({ email: 'ada@example.com' })
  await publishAll(ada, ['our_icons'])
  for (let count = 0; count < 120; count++) {
    const { status } = await ada.put('/api/packages/our_icons/options', { isUnlisted: count % 2 === 0 })
    expect(status).toBe(200)
  }
  const file = (await t.admin.get('/api/admin/audit-log', { headers: { accept: 'application/x-ndjson' } })).raw.toString()
  const logged = file
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { createdAt: string; summary: string; kind: string })
  const changes = logged.filter(({ kind }) => kind === 'package.options_updated').toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
  const [from, to] = [changes.at(-20)?.createdAt ?? '', changes[20]?.createdAt ?? '']
  const wanted = changes.filter(({ createdAt }) => createdAt >= from && createdAt < to)
  expect(wanted.length).toBeGreaterThan(50)
  const { code, out, err } = await run(t.app, t.admin, 'audit', { '2026-01-01T00:00:00Z': from, '2026-02-01T00:00:00Z': to })
  expect([code, err]).toEqual([0, ''])
  expect(out.map((line) => line.split('\t').slice(0, 2))).toEqual(wanted.map(({ createdAt, kind }) => [createdAt, kind]))
})

it('counts downloads per publisher', async () => {
  await using t = await registry()
  await publishAll(t.alice, ['our_icons', 'our_fonts', 'other'])
  for (const name of ['our_icons', 'our_fonts']) await t.alice.put(`/api/packages/${name}/publisher`, { publisherId: 'acme' })
  for (const [name, amount] of [
    ['our_icons', 5],
    ['our_fonts', 4],
    ['other', 2],
  ] as const)
    await storeDownloads(t.app, name, '1.0.0', [
      [1, amount],
      [50, 9],
    ])
  expect(await run(t.app, t.admin, 'downloads')).toEqual({ code: 0, out: ['9\tacme', '2\t(no publisher)'], err: '' })
})

it('retracts a version of all packages of a publisher', async () => {
  await using t = await registry()
  await publishAll(t.alice, ['our_icons', 'our_fonts'], '2.3.0')
  await publishAll(t.alice, ['our_other'])
  for (const name of ['our_icons', 'our_fonts', 'our_other']) await t.alice.put(`/api/packages/${name}/publisher`, { publisherId: 'acme' })
  const { code, out } = await run(t.app, t.alice, 'retract')
  expect([code, out.toSorted()]).toEqual([0, ['our_fonts 2.3.0 is retracted.', 'our_icons 2.3.0 is retracted.']])
  expect((await t.alice.get('/api/packages/our_icons/versions/2.3.0/options')).body).toMatchObject({ isRetracted: true })
  expect((await run(t.app, t.alice, 'retract')).out).toEqual([])
})

it('creates a service account with a narrow token, and rotates it', async () => {
  await using t = await registry()
  const created = await run(t.app, t.alice, 'create-robot')
  const [account = '', token = ''] = created.out[0]?.split(' ') ?? []
  expect((await t.alice.get(`/api/service-accounts/${account}/tokens`)).body.tokens).toMatchObject([
    { id: token, packages: ['our_*'], actions: ['publish'] },
  ])
  const file = join(folder, 'ci-token')
  const values = { '/opt/snug/': '', '<account>': account, '<token>': token, '/etc/snug/ci-token': file }
  expect(await run(t.app, t.alice, 'rotate', values)).toMatchObject({ code: 0, err: '' })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const robot = t.app.withToken(readFileSync(file, 'utf8'))
  await publish(robot, { name: 'our_new', version: '1.0.0' })
  expect((await robot.get('/api/packages/versions/new')).status).toBe(200)
})

it('ran every command of the page', () => expect(commands.filter((command) => !used.has(command))).toEqual([]))
