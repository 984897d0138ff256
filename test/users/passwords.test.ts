import { expect, it } from 'vitest'
import { generatePassword, estimateStrength } from '../../server/accounts/users/password.ts'
import { testApp } from '../app.ts'

const advised = (field: string) => ({
  status: 400,
  body: { error: { code: 'InvalidInput', message: expect.stringMatching(new RegExp(`^${field}: is too easy to guess\\. [A-Z].*\\.$`)) } },
})

it('refuses passwords that are guessed in minutes, with advice', async () => {
  await using app = await testApp({ env: { SIGNUP_ENABLED: 'true', SIGN_IN_LIMIT: '100', SERVER_URL: 'https://pub.example.com' } })
  const signUp = (password: string) =>
    app.anonymous.post('/api/auth/signup', { email: 'grace.hopper@navy.example', displayName: 'Grace Hopper', password })
  const refused = [
    'aaaaaaaa',
    '        ',
    'Summer2026',
    'abcabcabc',
    'P@ssw0rd123',
    'hopper2026',
    'navy2026',
    'Example2026',
    'p4ssw0rd'.repeat(9),
  ]
  for (const password of refused) expect({ password, ...(await signUp(password)) }).toMatchObject({ password, ...advised('password') })
  const message = 'password: is too easy to guess. Repeated characters like "aaa" are easy to guess. Add more words that are less common.'
  expect((await signUp('aaaaaaaa')).body.error.message).toMatch(message)
  for (const [password, why] of [
    ['short', 'must be at least 8 characters long.'],
    ['é'.repeat(37), 'must be at most 72 bytes long.'],
    ['Password1', 'is one of the most common passwords. Choose another.'],
    ['Grace Hopper', 'must not be your e-mail address or name.'],
  ])
    expect((await signUp(password ?? '')).body.error.message).toBe(`password: ${why}`)
  expect(await app.services.database.reads.all('select id from users')).toHaveLength(1)
  expect(await signUp('vexed lamp orbit')).toMatchObject({ status: 202 })
})

it('refuses weak passwords wherever one is chosen, naming the field', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const weak = 'Summer2026'
  const change = { currentPassword: 'correct horse', newPassword: weak }
  expect(await alice.post('/api/auth/change-password', change)).toMatchObject(advised('newPassword'))
  expect(await admin.post(`/api/admin/users/${alice.id}/reset-password`, { password: weak })).toMatchObject(advised('password'))
  const { body } = await admin.post('/api/admin/users', { email: 'i@example.com', displayName: 'I', mode: 'invite' })
  const token = body.inviteUrl.split('/invite/')[1]
  expect(await app.anonymous.post(`/api/invites/${token}/accept`, { password: weak })).toMatchObject(advised('password'))
  const answer = await alice.graphql('mutation ($input: ChangePasswordInput!) { changePassword(input: $input) }', { input: change })
  expect(answer.body.errors[0].extensions).toMatchObject({ code: 'InvalidInput', field: expect.stringContaining('newPassword') })
  expect(await alice.session()).toBeDefined()
})

it('answers other requests while it rates passwords crafted to be slow', async () => {
  const slow = ['4@4@4@4@($({[<c6g90oO', '1!l|i1!l|i7+t7+t5$s5$s', '@4a@4a1!'].map((text) => text.repeat(9).slice(0, 72))
  const started = performance.now()
  let longest = 0
  let last = started
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  const caller = { ip: '::1', state: {} }
  const estimates = await Promise.all(slow.map((password) => estimateStrength(caller, { password, known: ['alice@example.com', 'Alice'] })))
  clearInterval(ticking)
  expect(estimates.map(({ score }) => score).every((score) => score >= 2)).toBe(true)
  // The worker thread is busy most of this time, the event loop hardly at all.
  expect(longest).toBeLessThan((performance.now() - started) / 2)
})

it('generates passwords that it would accept', async () => {
  for (let round = 0; round < 20; round++) {
    const password = generatePassword()
    expect(await estimateStrength({ ip: '::1', state: {} }, { password, known: [] })).toMatchObject({
      common: false,
      score: expect.toSatisfy((score) => score >= 3),
    })
  }
})
