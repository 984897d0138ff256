import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { Invite } from '../../server/accounts/invites/entity.ts'
import { AccessToken } from '../../server/accounts/tokens/entity.ts'
import { certificateProblem } from '../../server/operations/attention/certificate.ts'
import { changeState } from '../../server/operations/backup/schedule/state.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { DailySample } from '../../server/operations/stats/entity.ts'
import { dayOf } from '../../server/registry/downloads/service.ts'
import { testApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { folderOfTest } from '../support/backups.ts'
import { publish } from '../support/publish.ts'

const query = '{ attention { kind severity count at text } }'
type Item = { kind: string; severity: string; count: number; at: string | null; text: string }
const itemsOf = async (admin: Actor): Promise<Item[]> => (await admin.graphql(query)).body.data.attention
const kindsOf = async (admin: Actor) => (await itemsOf(admin)).map(({ kind, severity, count }) => `${severity} ${kind} ${count}`)
const advice = (people: number, tokens: number) => [`INFO SECOND_FACTORS_MISSING ${people}`, `INFO TOKENS_NEVER_EXPIRE ${tokens}`]
const ago = (days: number) => new Date(Date.now() - days * 86_400_000)

it('reports backups, failed jobs, names, expiring tokens and invitations with counts, the most urgent first', async () => {
  await using app = await testApp({ env: { BACKUP_TO: folderOfTest(), SERVER_URL: 'http://pub.example.test' } })
  const [admin, alice] = [await app.admin(), await app.member()]
  expect(await kindsOf(admin)).toEqual(['WARNING ADDRESS_UNENCRYPTED 1', 'WARNING SETTINGS_WEAK 1', 'INFO SDK_MISSING 1', ...advice(2, 2)])
  await publish(alice, { name: 'acme_tools', version: '1.0.0' })
  await publish(alice, { name: 'acme_tool', version: '1.0.0' })
  const em = app.services.database.fork()
  await changeState(em.fork(), async () => [{ lastFailure: { at: ago(1).toISOString(), reason: 'No space left.' } }, null])
  for (const subject of ['one', 'two']) await enqueue(em, { kind: 'integrity.check', subject }, new Date())
  await em.getConnection().execute("update jobs set state = 'failed' where kind = 'integrity.check'")
  for (const [name, days] of Object.entries({ soon: 3, sooner: 1, later: 30, expired: -3 }))
    em.create(AccessToken, { user: admin.id, name, hash: name, prefix: 'svc_pat_abcd', scopes: 'read,write,admin', expiresAt: ago(-days) })
  await em.flush()
  await admin.post('/api/admin/users', { email: 'new@example.test', displayName: 'Nina New', role: 'member', mode: 'invite' })
  const found = await itemsOf(admin)
  expect(await em.count(Invite)).toBe(1)
  expect(found.map(({ kind, severity, count }) => `${severity} ${kind} ${count}`)).toEqual([
    'ERROR BACKUP_FAILED 1',
    'WARNING JOBS_FAILED 2',
    'WARNING NAMES_WAITING 1',
    'WARNING TOKENS_EXPIRING 2',
    'WARNING ADDRESS_UNENCRYPTED 1',
    'WARNING SETTINGS_WEAK 1',
    'INFO SDK_MISSING 1',
    ...advice(2, 2),
    'INFO INVITATIONS_UNANSWERED 1',
  ])
  expect(found[0]).toMatchObject({ text: 'The last backup failed. No space left.', at: expect.any(String) })
  expect(found.find(({ kind }) => kind === 'TOKENS_EXPIRING')?.at?.slice(0, 13)).toBe(ago(-1).toISOString().slice(0, 13))
})

it('reports that backups are off and that the disk is full, once', async () => {
  await using app = await testApp({ env: { MIN_FREE_BYTES: String(2 ** 50), SERVER_URL: 'http://localhost:8080' }, alone: true })
  expect(await kindsOf(await app.admin())).toEqual([
    'ERROR DISK_LOW 1',
    'WARNING BACKUPS_OFF 1',
    'WARNING SETTINGS_WEAK 1',
    'INFO SDK_MISSING 1',
    ...advice(2, 1),
  ])
})

it('forecasts a full disk from the trend of the daily samples', async () => {
  await using app = await testApp({ alone: true, env: { BACKUP_TO: folderOfTest() } })
  const admin = await app.admin()
  const em = app.services.database.fork()
  const today = dayOf(app.services.now())
  for (let back = 0; back < 10; back++)
    em.create(DailySample, { day: today - back, freeBytes: 2_000_000_000 + back * 200_000_000, activePeople: 1, activeTokens: 0 })
  await em.flush()
  const item = (await itemsOf(admin)).find(({ kind }) => kind === 'DISK_LOW')
  expect(item).toMatchObject({ severity: 'WARNING', text: expect.stringMatching(/full in about (9|10) days/) })
  const { body } = await admin.graphql('{ serverStatistics { lowSpaceAt diskSamples(first: 5) { day free } } }')
  expect(body.data.serverStatistics.lowSpaceAt).toBe(item?.at)
  expect(body.data.serverStatistics.diskSamples.map(({ free }: { free: string }) => Number(free))).toEqual(
    [4, 3, 2, 1, 0].map((back) => 2_000_000_000 + back * 200_000_000),
  )
})

/** Listens with a self-signed certificate that is valid for this many days. Returns the port. */
async function listenSelfSigned(days: number): Promise<number> {
  const folder = folderOfTest()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', String(days)]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject], { stdio: 'pipe' })
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

it('reports a self-signed certificate, and an expired one', async () => {
  const port = await listenSelfSigned(30)
  await using app = await testApp({ alone: true, env: { SERVER_URL: `https://localhost:${port}`, BACKUP_TO: folderOfTest() } })
  const admin = await app.admin()
  const found = async () => (await itemsOf(admin)).find(({ kind }) => kind.startsWith('CERTIFICATE'))
  expect(await found()).toMatchObject({
    severity: 'WARNING',
    kind: 'CERTIFICATE_UNTRUSTED',
    text: `The certificate of localhost:${port} is self-signed. Package clients reject it unless each machine trusts it.`,
  })
  app.clock.now = new Date(Date.now() + 31 * 86_400_000)
  expect(await certificateProblem(app.services)).toMatchObject({ kind: 'expired' })
})

it('reports no certificate that it cannot look at', async () => {
  await using app = await testApp({ alone: true, env: { SERVER_URL: 'https://127.0.0.1:1' } })
  expect(await certificateProblem(app.services)).toBeNull()
})

it('hides attention and the checklist from people without the scope admin', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const limited = await app.withScopes(admin, ['read', 'write'])
  for (const actor of [await app.viewer(), await app.member(), limited, app.anonymous] as Actor[])
    for (const text of [
      query,
      '{ setupChecklist { isHidden } }',
      'mutation { updateSetupChecklist(input: { isHidden: true }) { checklist { isHidden } } }',
    ]) {
      const { body } = await actor.graphql(text)
      expect([null, { attention: null }, { setupChecklist: null }]).toContainEqual(body.data)
      expect(['InsufficientPermissions', 'MissingAuthentication']).toContain(body.errors[0].extensions.code)
    }
})

const checklist = '{ setupChecklist { isHidden steps { step isDone } } }'
const stepsDone = async (admin: Actor) =>
  (await admin.graphql(checklist)).body.data.setupChecklist.steps
    .filter((one: { isDone: boolean }) => one.isDone)
    .map((one: { step: string }) => one.step)

it('shows the steps after the setup as done once they are, and hides the checklist for all administrators', async () => {
  await using app = await testApp({ env: { BACKUP_TO: folderOfTest() } })
  const owner = await (await app.owner()).session()
  const em = app.services.database.fork()
  await em.getConnection().execute('update access_tokens set revoked_at = created_at')
  expect(await stepsDone(owner)).toEqual([])
  const alice = await app.member()
  expect(await stepsDone(owner)).toEqual(['TOKEN', 'PEOPLE'])
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await changeState(em, async () => [{ lastSuccess: { id: '1', at: ago(0).toISOString(), bytes: 1, blobs: 1, lacking: 0 } }, null])
  expect(await stepsDone(owner)).toEqual(['TOKEN', 'PACKAGE', 'BACKUPS', 'PEOPLE'])
  const hide = (isHidden: boolean) =>
    owner.graphql('mutation ($isHidden: Boolean!) { updateSetupChecklist(input: { isHidden: $isHidden }) { checklist { isHidden } } }', {
      isHidden,
    })
  expect((await hide(true)).body.data.updateSetupChecklist.checklist).toEqual({ isHidden: true })
  await hide(true)
  const admin = await app.admin()
  expect((await admin.graphql(checklist)).body.data.setupChecklist.isHidden).toBe(true)
  const entries = await admin.get('/api/admin/audit-log?kind=server.settings_updated')
  expect(entries.body.entries.map(({ summary }: { summary: string }) => summary)).toEqual([
    expect.stringMatching(/hid the setup checklist$/),
  ])
})
