import { RootFieldBuilder } from '@pothos/core'
import { globSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// Prints the file and line of a GraphQL field (`PackageVersion.readme`) or of a REST endpoint (`GET /api/packages/:pkg`). For `npm run where`.

/** Where each field is defined, as `Type.field` → `file:line`. Filled while the schema is built. */
const fields = new Map<string, string>()

type FieldRef = { onFirstUse(listener: (config: { parentType: string; name: string }) => void): void }
type Creator = { createField(this: unknown, options: unknown): FieldRef }

/** Records the place in the sources that each call to create a field comes from. */
function recordFields(): void {
  const creator = Object.getPrototypeOf(RootFieldBuilder.prototype) as Creator
  const create = creator.createField
  creator.createField = function createField(options) {
    const place = callingPlace()
    const ref = create.call(this, options)
    ref.onFirstUse(({ parentType, name }) => fields.set(`${parentType}.${name}`, place))
    return ref
  }
}

/** Returns the innermost stack frame in a feature, as `file:line`. Helpers of the GraphQL platform are skipped when a feature called them. */
function callingPlace(): string {
  const frames = [...(new Error().stack ?? '').matchAll(/(file:\/\/[^\s)]+\.ts):(\d+):\d+/g)]
  const places = frames.map(([, url = '', line]) => `${relative(process.cwd(), fileURLToPath(url))}:${line}`)
  const own = places.filter((place) => place.startsWith('server/') && !place.startsWith('server/platform/launch/where.ts'))
  const isGeneral = (place: string) => /^server\/(?:platform\/graphql\/|schema\.ts)/.test(place)
  return own.find((place) => !isGeneral(place)) ?? own[0] ?? 'unknown'
}

/** Finds the row of an endpoint in the tables of routes. */
function findEndpoint(endpoint: string): string | undefined {
  for (const file of globSync('server/**/*.ts', { exclude: ['server/dist/**'] })) {
    const lines = readFileSync(file, 'utf8').split('\n')
    const index = lines.findIndex((line) => line.includes(`'${endpoint}'`) || isFromTemplate(endpoint, line))
    if (index !== -1) return `${file}:${index + 1}`
  }
  return undefined
}

/** Whether the line has a template of paths, such as GET /api/legal/${page}, that produces the endpoint. */
function isFromTemplate(endpoint: string, line: string): boolean {
  const [start, ...rest] = (/`([A-Z]+ \/[^`]*\$\{[^`]*)`/.exec(line)?.[1] ?? '').split(/\$\{\w+\}/)
  return rest.length > 0 && endpoint.startsWith(start ?? '') && endpoint.endsWith(rest.at(-1) ?? '')
}

async function findField(field: string): Promise<string | undefined> {
  Error.stackTraceLimit = 30
  recordFields()
  await import('../../schema.ts')
  return fields.get(field)
}

const wanted = process.argv.slice(2).join(' ').trim()
const isEndpoint = /^[A-Z]+ \//.test(wanted)
const place = isEndpoint ? findEndpoint(wanted) : await findField(wanted)
if (place === undefined) {
  const [, name] = wanted.split('.')
  const similar = [...fields].filter(([field]) => field.endsWith(`.${name}`)).map(([field, at]) => `\n  ${field}  ${at}`)
  console.error(
    `Nothing is called "${wanted}". Name a GraphQL field (PackageVersion.readme) or an endpoint (GET /api/packages/:pkg).${similar.join('')}`,
  )
  process.exit(64)
}
console.log(place)
