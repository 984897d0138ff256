/** The parts of the server's OpenAPI document that the reference shows. */
export interface OpenApi {
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { responses: Record<string, OpenApiResponse> }
}

export interface OpenApiOperation {
  operationId: string
  summary: string
  tags: string[]
  security: Record<string, string[]>[]
  parameters?: { name: string; in: 'path' | 'query'; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { required: boolean; content: Record<string, { schema?: Schema }> }
  responses: Record<string, OpenApiResponse>
}

export interface OpenApiResponse {
  $ref?: string
  description?: string
  content?: Record<string, { schema?: Schema }>
  'x-error-codes'?: string[]
}

interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  format?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
}

/** A parameter, or a property of a request or response, as a row of the reference. */
export interface Field {
  name: string
  /** Number of objects around a property. */
  depth: number
  type: string
  isRequired: boolean
  description: string
  /** Allowed values and limits. */
  limits: string
}

const lastSegment = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** Returns the type of a schema as text, such as `string (date-time)[] or null`. */
export function typeText(schema: Schema): string {
  if (schema.$ref) return lastSegment(schema.$ref)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeText))].join(' or ')
  if ('const' in schema) return JSON.stringify(schema.const)
  const types = [schema.type ?? 'any value'].flat()
  return types
    .map((type) => {
      if (type === 'array') return `${typeText(schema.items ?? {})}[]`
      return type === 'null' || !schema.format ? type : `${type} (${schema.format})`
    })
    .join(' or ')
}

/** Lists the properties of a schema and of the objects in it. Those of a map have the name `*`. */
export function fieldsOf(schema: Schema, depth = 0): Field[] {
  const inner = schema.anyOf ?? (schema.items ? [schema.items] : [])
  const own = Object.entries(schema.properties ?? {})
  const map = typeof schema.additionalProperties === 'object' ? [['*', schema.additionalProperties] as const] : []
  return [
    ...[...own, ...map].flatMap(([name, property]) => [
      { ...fieldOf(name, property, schema.required?.includes(name) ?? false), depth },
      ...fieldsOf(property, depth + 1),
    ]),
    ...inner.flatMap((one) => fieldsOf(one, depth)),
  ]
}

/** Describes a parameter or property. */
export function fieldOf(name: string, schema: Schema, isRequired: boolean, description = schema.description ?? ''): Field {
  return { name, depth: 0, type: typeText(schema), isRequired, description, limits: limitsOf(schema) }
}

function limitsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, maxItems } = schema
  const values = [schema, schema.items ?? {}, ...(schema.anyOf ?? [])].flatMap((one) => one.enum ?? [])
  const between = (min: number | undefined, max: number | undefined, unit: string) =>
    max === undefined ? (min === undefined ? [] : [`At least ${min}${unit}.`]) : [`${min ?? 0} to ${max}${unit}.`]
  return [
    ...(values.length > 0 ? [`One of ${values.join(', ')}.`] : []),
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' characters'),
    ...(maxItems === undefined ? [] : [`At most ${maxItems} items.`]),
  ].join(' ')
}

/** Returns an example that a schema accepts: the required properties of an object, or its first property if none is required. */
export function exampleOf(schema: Schema, name = ''): unknown {
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return exampleOf(schema.anyOf[0] ?? {}, name)
  const [type] = [schema.type].flat()
  if (type === 'array') return [exampleOf(schema.items ?? {}, name)]
  if (type === 'object') return Object.fromEntries(exampleProperties(schema).map(([key, value]) => [key, exampleOf(value, key)]))
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  return exampleText(schema, name)
}

function exampleProperties({ properties = {}, required = [] }: Schema): [string, Schema][] {
  const all = Object.entries(properties)
  const needed = all.filter(([key]) => required.includes(key))
  return needed.length > 0 ? needed : all.slice(0, 1)
}

function exampleText({ format, minLength = 0 }: Schema, name: string): string {
  if (format === 'date-time') return '2026-01-31T12:00:00Z'
  if (format === 'uri') return 'https://example.com/'
  return (exampleValues[name] ?? 'example').padEnd(minLength, '-')
}

/** Identifiers in examples, by the name of the parameter or property. */
export const exampleValues: Record<string, string> = {
  pkg: 'acme',
  package: 'acme',
  version: '1.0.0',
  v: '1.0.0',
  email: 'alice@example.com',
  path: 'README.md',
  file: 'acme-1.0.0.tar.gz',
  archive: 'acme-1.0.0.tar.gz',
  slug: 'example.com',
  q: 'http',
}
