import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

const json = { headers: { 'content-type': 'application/json' } }
const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
/** Returns the bytes of a text, with `~` replaced by a byte that is never valid in UTF-8. */
const bytes = (text: string) => Buffer.from(text.replace('~', '\u00ff'), 'latin1')
const message = expect.stringMatching(/not valid UTF-8/)

it('refuses bodies that are not UTF-8 in every API and stores no replacement characters', async () => {
  await using app = await testApp()
  const bob = await app.member()
  expect(await bob.send('PATCH', '/api/auth/profile', bytes('{"displayName":"Bo~b"}'), json)).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message } },
  })
  expect(await bob.send('POST', '/graphql', bytes('{"query":"{ viewer { id } }","variables":{"a":"~"}}'), json)).toMatchObject({
    status: 400,
    body: { errors: [{ message, extensions: { code: 'InvalidInput' } }] },
  })
  const flat = { status: 400, body: { error: 'invalid_request', error_description: message } }
  expect(await bob.send('POST', '/oauth/token', bytes('{"grant_type":"~"}'), json)).toMatchObject(flat)
  for (const body of ['grant_type=authorization_code&code=~', 'grant_type=authorization_code&code=%ff', 'code=%c3%28', 'code=%ed%a0%80'])
    expect(await bob.send('POST', '/oauth/token', bytes(body), form)).toMatchObject(flat)
  expect((await bob.get('/api/auth/me')).body.displayName).toBe(bob.user.displayName)
})

it('accepts all valid UTF-8, also percent-encoded', async () => {
  await using app = await testApp()
  const bob = await app.member()
  expect(await bob.patch('/api/auth/profile', { displayName: 'Zoë 日本 🦊' })).toMatchObject({ body: { displayName: 'Zoë 日本 🦊' } })
  const { body } = await bob.graphql('query ($name: String!) { package(name: $name) { name } }', { name: 'Zoë 🦊' })
  expect(body).toMatchObject({ data: { package: null } })
  for (const code of ['Zoë', '%5A%6f%C3%AB', '%zz', 'a+b'])
    expect(await bob.send('POST', '/oauth/token', `grant_type=x&code=${code}`, form)).toMatchObject({
      status: 400,
      body: { error: 'unsupported_grant_type' },
    })
})

it.each([
  ['{"query": "{ viewer { id } }"', /^The body is not valid JSON: /, undefined],
  ['', /^The body is empty/, undefined],
  ['null', /^The body must be a JSON object/, undefined],
  ['"x"', /^The body must be a JSON object/, undefined],
  ['[]', /^Send one query at a time/, undefined],
  ['{"query":"{ viewer { id } }","query":"{ node }"}', /^query: duplicate key/, 'query'],
  ['{"query":5}', /^query: must be a string/, 'query'],
  ['{"query":"{ viewer { id } }","variables":[]}', /^variables: must be an object/, 'variables'],
  ['{"query":"{ viewer { id } }","variables":"x"}', /^variables: must be an object/, 'variables'],
  ['{"query":"{ viewer { id } }","extensions":5}', /^extensions: must be an object/, 'extensions'],
  ['{"query":"{ viewer { id } }","operationName":5}', /^operationName: must be a string/, 'operationName'],
])('reports unreadable GraphQL bodies in the same words as REST: %s', async (body, wanted, field) => {
  await using app = await testApp()
  const answer = await (await app.member()).send('POST', '/graphql', body, json)
  const extensions = { code: 'InvalidInput', ...(field && { field }) }
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ message: expect.stringMatching(wanted) }] } })
  expect(answer.body.errors[0].extensions).toEqual(extensions)
})
