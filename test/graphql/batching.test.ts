import { getNamedType, type GraphQLField, type GraphQLObjectType, isLeafType, isNonNullType, isObjectType } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../server/schema.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

/** Returns a minimal selection of the field, or null if a required argument is unknown. */
function selectionOf({ name, args, type }: GraphQLField<unknown, unknown>): string | null {
  const wanted = args.filter((argument) => isNonNullType(argument.type))
  const known: Record<string, string> = { version: '"1.0.0"', input: '{ visibility: PUBLIC }' }
  if (wanted.some((argument) => !(argument.name in known))) return null
  const given = [
    ...wanted.map((argument) => `${argument.name}: ${known[argument.name]}`),
    ...(args.some((one) => one.name === 'first') ? ['first: 2'] : []),
  ]
  const inner = getNamedType(type)
  const fields = isObjectType(inner) ? Object.values(inner.getFields()) : []
  const leaf = fields.find((field) => isLeafType(getNamedType(field.type)) && field.args.length === 0)?.name ?? '__typename'
  const below = isConnection(inner.name) ? '{ nodes { __typename } }' : isLeafType(inner) ? '' : `{ ${leaf} }`
  return `${name}${given.length > 0 ? `(${given.join(', ')})` : ''} ${below}`
}

const isConnection = (name: string) => name.endsWith('Connection')
const fieldsOf = (type: string) => Object.values((schema.getType(type) as GraphQLObjectType).getFields())

/** The query cost limits the number of objects that each load a page or run a search. */
const isExpensive = ({ type, extensions }: GraphQLField<unknown, unknown>) =>
  isConnection(getNamedType(type).name) || Number(extensions.cost ?? 1) >= 20

it('loads many packages, versions or users with the same number of statements as a few', async () => {
  await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const owner = await app.owner()
  const files = { 'README.md': '# Hello', 'CHANGELOG.md': '## 1.0.0', 'example/main.dart': 'void main() {}', LICENSE: 'MIT' }
  const add = async (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      const pubspec = index === 0 ? '' : `dependencies:\n  other${index - 1}:\n    hosted: http://localhost:8080\n    version: ^1.0.0`
      await publish(await app.member(), { name: `other${index}`, version: '1.0.0', files, pubspec })
    }
  }
  const places: [string, string, (field: string) => string][] = [
    ['Package', 'packages', (field) => `{ packages(first: 20) { nodes { ${field} } } }`],
    ['PackageVersion', 'versions', (field) => `{ packages(first: 20) { nodes { latest { ${field} } } } }`],
    [
      'PackageDocument',
      'documents',
      (field) => `{ packages(first: 20) { nodes { latest { readme { ${field} } changelog { ${field} } } } } }`,
    ],
    ['Dependency', 'dependencies', (field) => `{ packages(first: 20) { nodes { latest { dependencies { ${field} } } } } }`],
    ['User', 'people', (field) => `{ users(first: 20) { nodes { ${field} } } }`],
    ['ManagedPackage', 'managed packages', (field) => `{ managedPackages(first: 20) { nodes { ${field} } } }`],
  ]
  const count = async () => {
    const counts = new Map<string, number>()
    for (const [type, , queryOf] of places)
      for (const field of fieldsOf(type)) {
        const selection = selectionOf(field)
        if (!selection || isExpensive(field)) continue
        const name = `${type}.${field.name}`
        const statements = await app.countQueries(async () => {
          const { body } = await owner.graphql(queryOf(selection), {}, { ip: app.address() })
          expect({ field: name, errors: body.errors }).toEqual({ field: name, errors: undefined })
        })
        counts.set(name, statements)
      }
    return counts
  }
  await add(0, 4)
  await count() // Fills the caches.
  const few = await count()
  await add(4, 12)
  await count()
  const many = await count()
  // Long requests pause, which may split a batch. Loading eight more packages one by one would take eight more statements.
  const pauses = 3
  const grown = [...many]
    .filter(([field, statements]) => statements > (few.get(field) ?? 0) + pauses)
    .map(([field, statements]) => `${field}: ${few.get(field)} → ${statements}`)
  expect(grown).toEqual([])
})
