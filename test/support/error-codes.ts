import { Kind, OperationTypeNode, parse } from 'graphql'
import { schema } from '../../server/schema.ts'

/** Codes with which every operation can fail, so that mutations do not list them (see `ErrorCode` in schema.graphql). */
const unlisted = new Set(['CsrfMismatch', 'RateLimitExceeded', 'ServiceUnavailable', 'InternalError', 'InvalidInput'])

type Failure = { path?: (string | number)[]; extensions?: { code?: string } }

/** Throws if a mutation failed with a code that its description does not list. */
export function checkErrorCodes(query: string, errors: readonly Failure[] = []): void {
  const failed = errors.filter(({ path, extensions }) => path?.length === 1 && extensions?.code !== undefined)
  if (failed.length === 0) return
  const fields = mutationsIn(query)
  for (const { path = [], extensions: { code = '' } = {} } of failed) {
    const name = fields.get(String(path[0]))
    const description = name === undefined ? undefined : schema.getMutationType()?.getFields()[name]?.description
    if (description == null || unlisted.has(code) || description.includes(`\`${code}\``)) continue
    throw new Error(`The mutation ${name} failed with ${code}, which its description does not list.`)
  }
}

/** Returns the mutations of a document by the names that their results have. */
function mutationsIn(query: string): Map<string, string> {
  const operations = parse(query).definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION && one.operation === OperationTypeNode.MUTATION ? [one] : [],
  )
  const fields = operations.flatMap(({ selectionSet }) => selectionSet.selections.flatMap((one) => (one.kind === Kind.FIELD ? [one] : [])))
  return new Map(fields.map(({ alias, name }) => [(alias ?? name).value, name.value]))
}
