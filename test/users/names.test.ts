import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

const invisible = [
  '\u200b',
  '\u2060\u200d',
  '\u00ad',
  '\u3164',
  '\u2800',
  '\u034f',
  '\u180e',
  ' \u200b \ufe0f',
  '\u{e0041}',
  '\u115f\u00a0',
]
const directed = ['\u202egnp.exe', 'a\u2066b', 'a\u200fb', 'a\u061cb', 'a\u2028b']
const fine = ['Zoë', '👩‍👩‍👧', 'می‌خواهم', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'ㅤZoë']

it('refuses invisible names and names that change the text direction around them', async () => {
  await using app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
  const [owner, admin, bob] = [await app.owner(), await app.admin(), await app.member()]
  expect((await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })).status).toBe(201)
  for (const name of [...invisible, ...directed]) {
    const answers = [
      await bob.patch('/api/auth/profile', { displayName: name }),
      await bob.post('/api/auth/keys', { name }),
      await admin.put(`/api/admin/users/${bob.id}`, { displayName: name }),
      await admin.post('/api/admin/users', { email: 'eve@example.com', displayName: name }),
      await admin.post('/api/publishers', { id: 'globex', displayName: name }),
      await admin.put('/api/publishers/acme', { displayName: name }),
      await app.anonymous.post(
        '/api/auth/signup',
        { email: 'eve@example.com', displayName: name, password: 'battery staple' },
        { ip: app.address() },
      ),
    ]
    for (const answer of answers)
      expect({ name, ...answer }).toMatchObject({
        status: 400,
        body: {
          error: {
            code: 'InvalidInput',
            message: expect.stringMatching(
              /^(?:displayName|name): must (?:contain a visible character|not (?:contain control characters|be empty))/,
            ),
          },
        },
      })
  }
  for (const displayName of fine)
    expect(await owner.patch('/api/auth/profile', { displayName })).toMatchObject({ status: 200, body: { displayName } })
})
