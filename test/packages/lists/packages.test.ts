import { expect, it } from 'vitest'
import { db } from '../../../server/platform/db/query.ts'
import { changeRows } from '../../../server/platform/db/statements.ts'
import { testApp, type TestApp } from '../../app.ts'
import { publish } from '../../support/publish.ts'

const path = '/api/admin/packages'
const asCsv = { headers: { accept: 'text/csv' } }

/** Publishes a discontinued package, a package whose uploader is disabled, and one of a publisher; only the last is analyzed. */
async function threePackages(app: TestApp) {
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  for (const [owner, name] of [
    [alice, 'old'],
    [bob, 'orphan'],
    [bob, 'team'],
  ] as const)
    await publish(owner, { name, version: '1.0.0' })
  await alice.put('/api/packages/old/options', { isDiscontinued: true, replacedBy: 'team' })
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  const em = app.services.database.fork()
  await changeRows(em, db.updateTable('packages').set({ publisher_id: 'acme' }).where('name', '=', 'team'))
  await changeRows(em, db.updateTable('package_search_documents').set({ score: -1 }))
  await changeRows(em, db.updateTable('package_search_documents').set({ score: 90 }).where('name', '=', 'team'))
  await admin.put(`/api/admin/users/${bob.id}`, { isActive: false })
  return { alice, bob, admin }
}

it('filters packages by owner, analysis and discontinuation, in GraphQL, REST and the file', async () => {
  await using app = await testApp({ alone: true })
  const { admin } = await threePackages(app)
  const names = async (query: string) => {
    const { body } = await admin.get(`${path}?${query}`)
    const file = String((await admin.get(`${path}?${query}`, asCsv)).body).split('\r\n')
    const listed: string[] = body.packages.map(({ name }: { name: string }) => name)
    expect(file.slice(1, -1).map((row) => row.split(',')[0])).toEqual(listed)
    expect(body.totalCount).toBe(listed.length)
    return listed
  }
  expect(await names('isDiscontinued=true')).toEqual(['old'])
  expect(await names('isDiscontinued=false')).toEqual(['orphan', 'team'])
  expect(await names('hasOwner=false')).toEqual(['orphan'])
  expect(await names('hasOwner=true')).toEqual(['old', 'team'])
  expect(await names('isAnalyzed=false')).toEqual(['old', 'orphan'])
  expect(await names('isAnalyzed=true')).toEqual(['team'])
  expect(await names('isAnalyzed=false&isDiscontinued=false&q=orph')).toEqual(['orphan'])
  expect(await names('orderBy=name&direction=desc')).toEqual(['team', 'orphan', 'old'])
  const nodes = '(first: 5, hasOwner: false) { nodes { package { name } } totalCount }'
  expect((await admin.graphql(`{ managedPackages${nodes} }`)).body.data.managedPackages).toEqual({
    nodes: [{ package: { name: 'orphan' } }],
    totalCount: 1,
  })
  expect((await admin.get(`${path}?hasOwner=maybe`)).status).toBe(400)
  expect((await admin.get(`${path}?orderBy=color`, asCsv)).status).toBe(400)
})

it('exports packages as CSV, page by page, to administrators only', async () => {
  await using app = await testApp({ alone: true })
  const { alice, bob, admin } = await threePackages(app)
  const { status, headers, body } = await admin.get(path, asCsv)
  expect(status).toBe(200)
  expect(headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8; header=present', vary: 'accept' })
  expect(headers['content-disposition']).toMatch(/^attachment; filename="packages-\d{4}-\d\d-\d\d\.csv"$/)
  const [head, old, orphan, team, end] = String(body).split('\r\n')
  expect(head).toBe(
    'name,latestVersion,visibility,isUnlisted,isDiscontinued,replacedBy,createdAt,updatedAt,downloads30d,versionCount,archiveBytes,scorePercent,publisherId,uploaders',
  )
  expect(old).toMatch(new RegExp(`^old,1\\.0\\.0,private,false,true,team,[^,]+Z,[^,]+Z,0,1,\\d+,,,${alice.email}$`))
  expect(orphan).toMatch(new RegExp(`,,,${bob.email}$`))
  expect(team).toMatch(/,90,acme,/)
  expect(end).toBe('')
  const answer = await admin.head(path, asCsv)
  expect([answer.status, answer.raw.length]).toEqual([200, 0])
  expect((await alice.get(path, asCsv)).status).toBe(403)
  expect((await app.anonymous.get(path, asCsv)).status).toBe(401)
  expect((await (await app.withScopes(admin, ['read'])).get(path, asCsv)).status).toBe(403)
})

it('exports people as CSV with the filters of the list, and no formulas', async () => {
  await using app = await testApp({ alone: true })
  const admin = await app.admin({ displayName: 'Ada' })
  const mallory = await app.member({ displayName: '=1+1' })
  const users = '/api/admin/users'
  for (let index = 0; index < 120; index++)
    await admin.post(users, { email: `person${index}@example.com`, displayName: `Person ${index}`, mode: 'invite' })
  const rows = async (query: string) =>
    String((await admin.get(`${users}?${query}`, asCsv)).body)
      .split('\r\n')
      .slice(1, -1)
  expect(await rows('status=invited&orderBy=email')).toHaveLength(120)
  expect(await rows('q=person 119')).toEqual([
    expect.stringMatching(/^[\w-]{36},person119@example\.com,Person 119,viewer,invited,[^,]+Z,$/),
  ])
  expect(await rows('role=member')).toEqual([expect.stringContaining(`${mallory.id},${mallory.email},'=1+1,member,active,`)])
  expect(await rows(`email=${mallory.email}`)).toHaveLength(1)
  expect((await admin.get(`${users}?role=admin&status=active`)).body).toMatchObject({ totalCount: 1, users: [{ displayName: 'Ada' }] })
  expect((await mallory.get(users, asCsv)).status).toBe(403)
})
