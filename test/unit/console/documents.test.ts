import { buildSchema, Kind, parse, validate } from 'graphql'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readDocuments } from '../../../server/platform/graphql/trusted-documents.ts'
import { root } from '../../support/sources.ts'

const documents = readDocuments()
const operationsOf = (text: string) =>
  parse(text).definitions.flatMap((node) => (node.kind === Kind.OPERATION_DEFINITION ? [`${node.operation} ${node.name?.value}`] : []))

it('contains all operations of the console by SHA-256, each valid against the schema', () => {
  const written = globSync(join(root, 'web/*/*.graphql')).flatMap((file) => operationsOf(readFileSync(file, 'utf8')))
  expect(written.length).toBeGreaterThan(100)
  expect([...documents.values()].flatMap(operationsOf).toSorted()).toEqual(written.toSorted())
  const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'))
  for (const [hash, text] of documents) {
    expect(hash).toBe(createHash('sha256').update(text).digest('hex'))
    expect(validate(schema, parse(text))).toEqual([])
  }
})

it('contains the operations whose hashes, but not texts, are in the scripts of the console', () => {
  const scripts = globSync(join(root, 'web/dist/assets/*.js'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  for (const [hash, text] of documents) expect([text, scripts.includes(hash), scripts.includes(text)]).toEqual([text, true, false])
})
