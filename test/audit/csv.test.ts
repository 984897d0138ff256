import { expect, it } from 'vitest'
import { cell } from '../../server/platform/rest/export.ts'
import { testApp } from '../app.ts'
import { addEntries } from '../support/audit.ts'

const path = '/api/admin/audit-log'

it('exports CSV that spreadsheets open and that cannot inject formulas', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const mallory = await app.member({ displayName: '=HYPERLINK("http://evil.example","Größe")' })
  await addEntries(app, 1, () => ({
    kind: 'user.updated',
    summary: 'said "hi", then\nleft',
    actorId: mallory.id,
    package: 'ui',
    version: '1.0.0',
    clientIp: '10.1.2.3',
  }))
  const { status, headers, body } = await admin.get(path, { headers: { accept: 'text/csv' } })
  expect(status).toBe(200)
  expect(headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8; header=present', vary: 'accept' })
  expect(headers['content-disposition']).toMatch(/^attachment; filename="audit-log-\d{4}-\d\d-\d\d\.csv"$/)
  const [head, ...rows] = String(body).split('\r\n')
  expect(head).toBe('id,createdAt,kind,summary,actorId,actorName,actorEmail,userId,userName,userEmail,package,version,clientIp,publisher')
  expect(rows.join('\r\n')).toMatch(
    new RegExp(
      `,user.updated,"said ""hi"", then\nleft",${mallory.id},"'=HYPERLINK\\(""http://evil.example"",""Größe""\\)",${mallory.email},,,,ui,1.0.0,10.1.2.3,\r\n$`,
    ),
  )
})

it.each([
  ['plain', 'plain'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(1)', "'@SUM(1)"],
  ['\tx', "'\tx"],
  ['\rx', '"\'\rx"'],
  [' =1', "' =1"],
  ['\uff1d1', "'\uff1d1"],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['a-b', 'a-b'],
])('writes the cell %j as %j', (text, written) => {
  expect(cell(text)).toBe(written)
})

it('returns JSON unless CSV is preferred, and the whole log as CSV', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await addEntries(app, 1234, (n) => ({ kind: 'user.login', summary: String(n) }))
  const typeFor = async (accept: string) => String((await admin.get(path, { headers: { accept } })).headers['content-type']).split(';')[0]
  for (const accept of [
    '*/*',
    'application/json',
    'text/csv;q=0.5, application/json',
    'text/csv;q=0',
    'text/html',
    'text/csv;q=0.2, application/*;q=0.3',
  ])
    expect(await typeFor(accept), accept).toBe('application/json')
  for (const accept of ['text/csv', 'TEXT/CSV; charset=utf-8', 'text/csv, application/json;q=0.9', 'text/csv, */*'])
    expect(await typeFor(accept), accept).toBe('text/csv')
  const { body } = await admin.get(path, { headers: { accept: 'text/csv' } })
  expect(
    String(body)
      .split('\r\n')
      .slice(1, -1)
      .map((row) => row.split(',')[3]),
  ).toEqual(Array.from({ length: 1234 }, (_, n) => String(1233 - n)))
  const head = await admin.head(path, { headers: { accept: 'text/csv' } })
  expect([head.status, head.headers['content-type'], head.raw.length]).toEqual([200, 'text/csv; charset=utf-8; header=present', 0])
})

it('returns NDJSON with one entry per line and the same filters', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const member = await app.member()
  await addEntries(app, 600, (n) => ({ kind: n % 2 ? 'user.login' : 'user.updated', summary: `${n}\n"quoted" =1+1`, actorId: member.id }))
  const accept = { headers: { accept: 'application/x-ndjson' } }
  const { status, headers, body } = await admin.get(`${path}?kind=user.login`, accept)
  expect(status).toBe(200)
  expect(headers).toMatchObject({ 'content-type': 'application/x-ndjson; charset=utf-8', vary: 'accept' })
  expect(headers['content-disposition']).toMatch(/^attachment; filename="audit-log-\d{4}-\d\d-\d\d\.ndjson"$/)
  const rows = String(body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(rows).toHaveLength(300)
  expect(rows[0]).toEqual({
    id: expect.any(String),
    createdAt: expect.stringMatching(/Z$/),
    kind: 'user.login',
    summary: '599\n"quoted" =1+1',
    actorId: member.id,
    actorName: member.user.displayName,
    actorEmail: member.email,
    userId: null,
    userName: null,
    userEmail: null,
    package: null,
    version: null,
    clientIp: null,
    publisher: null,
  })
  expect((await admin.get(`${path}?package=nothing`, accept)).raw.length).toBe(0)
  expect((await admin.get(`${path}?kind=no kind`, accept)).status).toBe(400)
  expect((await member.get(path, accept)).status).toBe(403)
  expect((await app.anonymous.get(path, accept)).status).toBe(401)
  expect((await admin.get(path, { headers: { accept: 'application/x-ndjson;q=0.5, application/json' } })).body).toHaveProperty('entries')
})
