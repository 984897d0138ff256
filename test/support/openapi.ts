import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import findMyWay from 'find-my-way'
import { schema } from '../../server/schema.ts'
import { describeRoutes, openApiPath } from '../../server/platform/rest/openapi.ts'
import { routeGroupsOf, routesOf } from '../../server/routes.ts'
import type { Exchange } from './leaks.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

type Content = Record<string, { schema?: object }>
type Response = { $ref?: string; content?: Content }
type Document = {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>
  components: { schemas: object; responses: Record<string, Response> }
}

/** Builds everything that depends on the document. Called once per process, when first needed. */
const make = () => {
  const router = findMyWay({ maxParamLength: 512 })
  for (const route of routes) if (!router.hasRoute('GET', route.path)) router.on('GET', route.path, () => {}, openApiPath(route))
  const document = describeRoutes(schema, routeGroupsOf({}), 'http://localhost') as Document
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
  return { router, document, ajv, validators: new Map<object, ValidateFunction>() }
}
let made: ReturnType<typeof make> | undefined
const openApi = () => (made ??= make())

/** Validates responses against the OpenAPI document: operation, status, media type, and the JSON body, without fields the schema does not define. */
export class ResponseValidator {
  readonly mismatches = new Set<string>()
  private readonly basePath: string

  constructor(serverUrl: string) {
    this.basePath = new URL(serverUrl).pathname.replace(/\/$/, '')
  }

  /** Records a response that does not match the document. */
  readonly compare = ({ method, url, status, headers, body }: Exchange): void => {
    const path = url.split('?', 1)[0] ?? ''
    if (!path.startsWith(`${this.basePath}/`)) return
    const problem = problemOf(method, path.slice(this.basePath.length), status, String(headers['content-type'] ?? ''), body)
    if (problem) this.mismatches.add(`${method} ${path} answered ${status}: ${problem}`)
  }

  /** @throws Error with every response that the document does not describe. */
  require(): void {
    if (this.mismatches.size > 0) throw new Error(`The OpenAPI document does not describe:\n${[...this.mismatches].join('\n')}`)
  }
}

function problemOf(method: string, path: string, status: number, contentType: string, body: string): string | null {
  const { router, document } = openApi()
  const known = isFile(path) ? null : (router.find('GET', path)?.store as string | null | undefined)
  if (!known) return isUndescribed(path) && ![400, 404, 405].includes(status) ? 'no such path' : null
  const operation = document.paths[known]?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
  if (!operation) return status === 405 ? null : `${known} has no such method`
  // A wrong `Expect` is refused on every endpoint, so the document has it only as any other failure.
  const named = operation.responses[status === 417 ? 'default' : status]
  if (!named) return `${known} has no such status`
  const { content = {} } = named.$ref ? (document.components.responses[named.$ref.split('/').at(-1) ?? ''] ?? {}) : named
  const type = contentType.split(';', 1)[0] ?? ''
  if (type && status !== 304 && !content[type]) return `${known} has no such media type: ${type}`
  if (body === '') return null
  const described = content[type]?.schema
  return described ? invalid(described, JSON.parse(body)) : `${known} has no schema`
}

/** Reports whether a path is a static file of the documentation pages. No endpoint serves it, although the path pattern of one matches. */
const isFile = (path: string) => path.startsWith('/documentation/-/')

/** Reports whether a path must be described. Exceptions are the API reference, the consent page and the requests of the doctor. */
const isUndescribed = (path: string) => /^\/(?:api|oauth)\/(?!docs(?:\/|$)|consent$|v1\/doctor$)/.test(path)

function invalid(described: object, value: unknown): string | null {
  const { ajv, validators, document } = openApi()
  let validate = validators.get(described)
  if (!validate) validators.set(described, (validate = ajv.compile(closed({ ...described, components: document.components }) as object)))
  return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: 'body' })
}

/**
 * Returns the schema without additional properties in any object. The document allows fields of future releases, but tests must only see fields of
 * this one.
 */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed)
  if (typeof part !== 'object' || part === null) return part
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]))
  return inner.type === 'object' && inner.properties ? { additionalProperties: false, ...inner } : inner
}
