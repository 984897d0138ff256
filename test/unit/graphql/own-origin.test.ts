import { buildSchema, Kind, parse } from 'graphql'
import { expect, it } from 'vitest'
import { needsCsrfToken } from '../../../server/platform/graphql/caller-check.ts'

const schema = buildSchema('type Query { me: Int } type Mutation { login: Int publish: Int }')
const login = schema.getMutationType()?.getFields().login
if (login) login.extensions = { ownOrigin: true }

function needsToken(text: string): boolean {
  const document = parse(text)
  const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION)
  if (!operation) throw new Error('no operation')
  return needsCsrfToken(schema, document, operation)
}

it('requires the CSRF token unless all fields of a mutation reject other origins themselves', () => {
  expect(needsToken('mutation { a: login b: login __typename }')).toBe(false)
  expect(needsToken('mutation { ...a } fragment a on Mutation { login }')).toBe(false)
  expect(needsToken('mutation { login publish }')).toBe(true)
  expect(needsToken('mutation { login ...a } fragment a on Mutation { ... { publish } }')).toBe(true)
  expect(needsToken('mutation { login ...absent }')).toBe(true)
  expect(needsToken('{ me }')).toBe(false)
})

it('visits each fragment once, even if it is spread repeatedly', () => {
  const depth = 60
  const fragments = Array.from({ length: depth }, (_, level) => `fragment f${level} on Mutation { ...f${level + 1} ...f${level + 1} }`)
  expect(needsToken(`mutation { ...f0 } ${fragments.join(' ')} fragment f${depth} on Mutation { login }`)).toBe(false)
  expect(needsToken(`mutation { ...f0 } ${fragments.join(' ')} fragment f${depth} on Mutation { publish }`)).toBe(true)
})
