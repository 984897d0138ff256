import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

it('answers 404 for names of other servers, and 400 for other text', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['Path', '_fe_analyzer_shared', 'a'.repeat(65), 'class'])
    expect(await alice.get(`/api/packages/${name}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  for (const name of ['1abc', 'a-b', 'a.b', '%20'])
    expect(await alice.get(`/api/packages/${name}`)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})

it('answers OAuth metadata at the inserted path below a prefix', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://pub.example.com/tools/pub' } })
  for (const path of ['/.well-known/oauth-authorization-server/tools/pub', '/tools/pub/.well-known/oauth-authorization-server'])
    expect(await app.anonymous.get(path)).toMatchObject({ status: 200, body: { issuer: 'https://pub.example.com/tools/pub' } })
  expect((await app.anonymous.get('/.well-known/oauth-authorization-server/other')).status).toBe(404)
})
