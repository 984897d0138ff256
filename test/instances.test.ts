import { expect, it } from 'vitest'
import { testApp } from './app.ts'
import { anotherInstance } from './support/instances.ts'

it('refuses a disabled, demoted or signed-out person at the very next request, on every instance', async () => {
  await using app = await testApp()
  await using other = await anotherInstance(app)
  const second = other ?? app
  const [admin, alice] = [await app.admin(), await app.member()]
  const browser = await alice.session()
  const [aliceThere, browserThere] = [alice.at(second), browser.at(second)]
  expect(await browserThere.get('/api/auth/me')).toMatchObject({ status: 200 })
  await admin.put(`/api/admin/users/${alice.id}`, { role: 'viewer' })
  expect(await aliceThere.get('/api/packages/versions/new')).toMatchObject({ status: 403 })
  await browser.post('/api/auth/logout')
  expect(await browserThere.get('/api/auth/me')).toMatchObject({ status: 401 })
  await admin.put(`/api/admin/users/${alice.id}`, { isActive: false })
  expect(await aliceThere.get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('counts attempts on all instances together', async () => {
  await using app = await testApp()
  await using other = await anotherInstance(app)
  const second = other ?? app
  const attempt = { email: 'nobody@example.com', password: 'wrong' }
  for (let round = 0; round < 5; round++) {
    await app.anonymous.post('/api/auth/login', attempt)
    await second.anonymous.post('/api/auth/login', attempt)
  }
  expect(await second.anonymous.post('/api/auth/login', attempt)).toMatchObject({ status: 429 })
})
