import { expect, it } from 'vitest'
import { ResponseValidator } from '../../support/openapi.ts'

const json = { 'content-type': 'application/json; charset=utf-8' }
const likes = {
  method: 'GET',
  url: '/api/packages/acme/likes',
  given: undefined,
  status: 200,
  headers: json,
  body: '{"package":"acme","likes":3}',
}

/** Returns the mismatches of a response. */
function problems(answer: Partial<typeof likes> & { headers?: object }, serverUrl = 'http://localhost'): string[] {
  const validator = new ResponseValidator(serverUrl)
  validator.compare({ ...likes, ...answer })
  return [...validator.mismatches]
}

it('accepts responses that the document describes', () => {
  expect(problems({})).toEqual([])
  expect(problems({ method: 'HEAD', body: '' })).toEqual([])
  expect(problems({ url: '/registry/api/packages/acme/likes?x=1' }, 'http://localhost/registry')).toEqual([])
  expect(problems({ status: 404, body: '{"error":{"code":"NotFound","message":"There is no package acme on this server."}}' })).toEqual([])
})

it.each([
  [{ body: '{"package":"acme"}' }, 'must have required property'],
  [{ body: '{"package":"acme","likes":"3"}' }, 'body/likes must be integer'],
  [{ body: '{"package":"acme","likes":3,"more":1}' }, 'must NOT have additional properties'],
  [{ status: 202 }, 'no such status'],
  [{ status: 404, body: '{"error":{"code":"Missing","message":""}}' }, 'must be equal to one of the allowed values'],
  [{ method: 'POST' }, 'no such method'],
  [{ url: '/api/packages/acme/nothing' }, 'no such path'],
  [{ headers: { 'content-type': 'text/plain' }, body: '' }, 'no such media type: text/plain'],
])('reports %j', (answer, problem) => {
  expect(problems(answer)).toEqual([expect.stringContaining(problem)])
})

it('fails tests with undocumented responses', () => {
  const validator = new ResponseValidator('http://localhost')
  expect(() => validator.require()).not.toThrow()
  validator.compare({ ...likes, status: 202 })
  expect(() => validator.require()).toThrow('GET /api/packages/acme/likes answered 202: /api/packages/{pkg}/likes has no such status')
})
