import type { FastifyRequest } from 'fastify'
import {
  type DocumentNode,
  type FieldNode,
  getArgumentValues,
  getNamedType,
  getVariableValues,
  type GraphQLField,
  type GraphQLSchema,
  isCompositeType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { type ApiError, insufficientPermissions } from '../../errors.ts'
import { packageOfArchive } from '../pub/package-name.ts'
import type { Credential, Narrowing, TokenAction } from './roles.ts'

// Everything that a narrowed credential may do. What is not listed here is rejected: before the body of a request is read, and before a resolver runs.

/** Where an operation names its package. `later`: in the archive, which is checked when the upload is finished. `all`: it concerns all packages. */
type Rule = { action: TokenAction; names: 'package' | 'later' | 'all' }

const endpoints: [string, Rule][] = [
  ...list('read', 'package', [
    'GET /api/packages/:pkg',
    'GET /api/packages/:pkg/versions/:version',
    'GET /api/packages/:pkg/versions/:version/archive.tar.gz',
    'GET /api/packages/:pkg/versions/:version/content',
    'GET /api/packages/:pkg/versions/:version/dependencies',
    'GET /api/packages/:pkg/versions/:version/options',
    'GET /api/packages/:pkg/versions/:version/score',
    'GET /api/packages/:pkg/versions/:version/scoring-report',
    'GET /api/packages/:pkg/advisories',
    'GET /api/packages/:pkg/downloads',
    'GET /api/packages/:pkg/feed.atom',
    'GET /api/packages/:pkg/metrics',
    'GET /api/packages/:pkg/options',
    'GET /api/packages/:pkg/score',
    'GET /api/archives/:file',
    'GET /api/documentation/:pkg',
    'GET /documentation/:pkg',
    'GET /documentation/:pkg/:version',
    'GET /documentation/:pkg/:version/*',
    'GET /documentation/:pkg/:version/index.json',
    'GET /packages/:pkg.json',
    'GET /packages/:pkg/versions/:version.tar.gz',
    'GET /packages/:pkg/badges/version.svg',
    'GET /packages/:pkg/badges/score.svg',
    'GET /packages/:pkg/badges/downloads.svg',
    'GET /packages/:pkg/feed.atom',
    'GET /raw/:pkg/:version/*',
    'GET /thumbnails/:pkg/:version/*',
    'GET /mirror/api/packages/:name',
    'GET /mirror/api/packages/:name/versions/:version',
    'GET /mirror/api/packages/:name/versions/:version/archive.tar.gz',
    'GET /mirror/api/packages/:name/versions/:version/attestation',
    'GET /mirror/api/packages/:name/advisories',
    'GET /mirror/api/packages/:name/options',
    'GET /mirror/api/packages/:name/publisher',
    'GET /mirror/api/packages/:name/score',
    'GET /mirror/api/archives/:archive',
    'GET /mirror/packages/:name/versions/:version.tar.gz',
  ]),
  ...list('read', 'all', [
    'GET /api/packages',
    'GET /api/package-names',
    'GET /api/package-name-completion-data',
    'GET /api/search',
    'GET /api/search/symbols',
    'GET /packages.json',
    'GET /feed.atom',
    'GET /mirror/api/package-name-completion-data',
    'POST /mirror/api/check',
  ]),
  ...list('publish', 'later', [
    'GET /api/packages/versions/new',
    'POST /api/packages/versions/upload',
    'GET /api/packages/versions/newUploadFinish',
  ]),
  ...list('retract', 'package', ['PUT /api/packages/:pkg/versions/:version/options']),
]

/** The rules by method and path, which are not joined for each request. */
const routes = new Map(
  [...Map.groupBy(endpoints, ([endpoint]) => endpoint.split(' ')[0] ?? '')].map(([method, own]) => [
    method,
    new Map(own.map(([endpoint, rule]) => [endpoint.slice(method.length + 1), rule])),
  ]),
)

/** GraphQL is checked by operation (see `requireNarrowedOperation`). */
const graphqlPaths = new Set(['/graphql', '/graphql/'])

const rootFields = new Map<string, Rule>([
  ...list('read', 'package', ['Query.package']),
  ...list('read', 'all', ['Query.packages', 'Query.packageNames', 'Query.searchPackages', 'Query.searchSymbols']),
  ...list('publish', 'later', ['Mutation.createUpload', 'Mutation.finalizeUpload']),
  ...list('retract', 'package', ['Mutation.updateVersionOptions']),
])

/**
 * Fields below the root that lead to another object, by type, and that the action `read` allows. They stay within the package. Fields with a plain
 * value are allowed.
 */
const objectFields: Record<string, string> = {
  Package: 'latest latestPrerelease displayedVersion version versions versionGroups downloads advisories',
  PackageVersion:
    'package advisories apiDocumentation changelog comparison dependencies environment example file files install license readme score screenshots',
  ApiDocumentation: 'page libraries declarations',
  ApiPage: 'sections',
  ApiPageSection: 'entries',
  ApiLibrary: 'declarations',
  PackageVersionConnection: 'edges nodes pageInfo',
  PackageVersionEdge: 'node',
  PackageConnection: 'edges nodes pageInfo',
  PackageEdge: 'node',
  PackageSearchConnection: 'edges nodes pageInfo',
  PackageSearchEdge: 'node',
  ApiSymbolConnection: 'edges nodes pageInfo',
  ApiSymbolEdge: 'node',
  ApiSymbol: 'package',
  PackageFiles: 'nodes',
  PackageFileContent: 'file',
  PackageDownloads: 'byVersion versions weeks',
  DownloadsByVersion: 'groups',
  Score: 'report',
  ScoreReport: 'sections',
  ScoreSection: 'criteria',
  UpdateVersionOptionsPayload: 'version',
  FinalizeUploadPayload: 'version',
}
const readableFields = new Set(Object.entries(objectFields).flatMap(([type, own]) => own.split(' ').map((field) => `${type}.${field}`)))
/** Objects that any action allows: they belong to the result of the operation itself. */
const ownParts = new Set(['CreateUploadPayload.fields'])

/** Fields with a plain value that name packages other than the one they belong to. */
const namesOthers = new Set(['Package.confusableWith', 'Package.confusableWithReserved'])

function list(action: TokenAction, names: Rule['names'], operations: readonly string[]): [string, Rule][] {
  return operations.map((operation) => [operation, { action, names }])
}

/** Rejects a request with a narrowed credential unless the route is listed. `base` is the path of SERVER_URL. @throws ApiError InsufficientPermissions. */
export function requireNarrowedRoute(narrowing: Narrowing, { method, routeOptions, params }: FastifyRequest, base: string): void {
  const { url = '' } = routeOptions
  const path = base === '' ? url : url.slice(base.length)
  if (graphqlPaths.has(path)) return
  const { pkg, name, file, archive } = (params ?? {}) as Record<string, string | undefined>
  requireRule(
    narrowing,
    routes.get(method === 'HEAD' ? 'GET' : method)?.get(path),
    () => pkg ?? name ?? packageOfArchive(file ?? archive ?? ''),
  )
}

/**
 * Rejects a GraphQL operation of a narrowed credential unless all its fields are listed. Fields that `@skip` leaves out count too.
 * @throws ApiError InsufficientPermissions.
 */
export function requireNarrowedOperation(
  narrowing: Narrowing,
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Record<string, unknown>,
): void {
  const { variableValues } = getVariableValues(schema, operation.variableDefinitions ?? [], given)
  // Execution rejects invalid variables with a better message.
  if (!variableValues) return
  const root = schema.getRootType(operation.operation)
  const types = new TypeInfo(schema)
  const Field = (node: FieldNode): void => {
    const [parent, field] = [types.getParentType(), types.getFieldDef()]
    if (node.name.value === '__typename') return
    if (!parent || !field) throw notListed(narrowing)
    const name = `${parent.name}.${field.name}`
    if (parent === root) requireRule(narrowing, rootFields.get(name), () => packageIn(field, node, variableValues))
    else if (namesOthers.has(name)) requireAllPackages(narrowing)
    else if (isCompositeType(getNamedType(field.type))) requireObjectField(narrowing, name)
  }
  visit(operationWithFragments(document, operation), visitWithTypeInfo(types, { Field }))
}

type Variables = Parameters<typeof getArgumentValues>[2]

/** Returns the package that a root field names: its argument `name`, or the member `package` of its input. */
function packageIn(field: GraphQLField<unknown, unknown>, node: FieldNode, variables: Variables): string | undefined {
  const { name, input } = getArgumentValues(field, node, variables) as { name?: string; input?: { package?: string } }
  return name ?? input?.package
}

/** Returns the document without the other operations and the fragments that only they use. */
const operationWithFragments = (document: DocumentNode, operation: OperationDefinitionNode): DocumentNode =>
  separateOperations(document)[operation.name?.value ?? ''] ?? document

function requireObjectField(narrowing: Narrowing, field: string): void {
  if (ownParts.has(field)) return
  if (!readableFields.has(field)) throw notListed(narrowing)
  if (!narrowing.actions.has('read')) throw lacksAction(narrowing, 'read')
}

function requireAllPackages({ covers }: Narrowing): void {
  if (covers) throw insufficientPermissions('This credential is limited to certain packages, so that it cannot list or search packages.')
}

function requireRule(narrowing: Narrowing, rule: Rule | undefined, packageName: () => string | undefined): void {
  if (!rule) throw notListed(narrowing)
  if (!narrowing.actions.has(rule.action)) throw lacksAction(narrowing, rule.action)
  if (rule.names === 'later' || !narrowing.covers) return
  if (rule.names === 'all') requireAllPackages(narrowing)
  requireCovered(narrowing, rule.action, packageName() ?? '')
}

/** Rejects a package that a narrowed credential does not cover. Credentials that are not narrowed cover all. @throws ApiError InsufficientPermissions. */
export function requirePackage({ credential }: { credential: Credential }, action: TokenAction, name: string): void {
  if (credential.narrowing) requireCovered(credential.narrowing, action, name)
}

function requireCovered({ covers, explain }: Narrowing, action: TokenAction, name: string): void {
  if (covers?.(action, name) === false)
    throw insufficientPermissions(explain?.(action, name) ?? `This credential does not allow to ${action} the package ${name}.`)
}

const lacksAction = ({ actions, hint }: Narrowing, action: TokenAction): ApiError =>
  insufficientPermissions(
    `This credential does not allow the action "${action}", only: ${[...actions].join(', ')}.${hint === undefined ? '' : ` ${hint}`}`,
  )

const notListed = ({ actions }: Narrowing): ApiError =>
  insufficientPermissions(`This credential is limited to the actions ${[...actions].join(', ')}. They do not include this request.`)
