import { builder } from '../../platform/graphql/builder.ts'
import { notNegative, partOf } from '../../platform/graphql/connections.ts'
import { connectionOf, done, payload, wordEnum } from '../../platform/graphql/payload.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { z } from 'zod'
import { requireMirror } from './access.ts'
import { listMirrored, type MirroredPackage, mirrorSize, type MirrorSize, refreshMirrored, removeMirrored } from './catalog/cached.ts'
import { describedIn, searchNames } from './catalog/names.ts'
import { healthOf, readsOf, type UpstreamHealth } from './health.ts'

const MirrorAccess = wordEnum<'token' | 'open'>('MirrorAccess', 'Who may read the mirror.', {
  token: 'Signed-in callers with the scope `read`.',
  open: 'Everyone who can reach the server.',
})

const CacheRef = builder.objectRef<MirrorSize>('MirrorCache').implement({
  description: 'What the mirror keeps of the upstream server.',
  fields: (t) => ({
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Size of all files, in bytes.' }),
    limitBytes: t.field({
      type: 'BigInt',
      description: 'Size in bytes beyond which the files that were not used for the longest time are deleted (UPSTREAM_CACHE_BYTES).',
      resolve: (_cache, _args, { config }) => config.UPSTREAM_CACHE_BYTES,
    }),
    listings: t.exposeInt('listings', { description: 'Number of packages whose listing is in the mirror.' }),
    archives: t.exposeInt('archives', { description: 'Number of archives in the mirror.' }),
    reads: t.int({
      description: 'Number of files that the process which answers this query has read from the mirror since it started.',
      resolve: (_cache, _args, context) => readsOf(context).reads,
    }),
    hits: t.int({
      description: 'How many of `reads` needed no request to the upstream server.',
      resolve: (_cache, _args, context) => readsOf(context).hits,
    }),
  }),
})

const HealthRef = builder.objectRef<UpstreamHealth>('UpstreamHealth').implement({
  description: 'Requests to the upstream server by the process that answers this query, since it started.',
  fields: (t) => ({
    requests: t.exposeInt('requests', { description: 'Number of requests.' }),
    failures: t.exposeInt('failures', { description: 'Number of failed requests.' }),
    receivedBytes: t.expose('bytes', { type: 'BigInt', description: 'Bytes received.' }),
    meanMs: t.float({
      nullable: true,
      description: 'Mean duration of the requests in milliseconds; null without requests.',
      resolve: ({ requests, latencyMs }) => (requests === 0 ? null : latencyMs / requests),
    }),
    isReachable: t.boolean({
      nullable: true,
      description: 'Whether the last request succeeded; null without requests.',
      resolve: ({ lastSuccessAt, lastFailureAt }) =>
        lastSuccessAt === null && lastFailureAt === null ? null : (lastSuccessAt?.getTime() ?? 0) >= (lastFailureAt?.getTime() ?? 0),
    }),
    lastSuccessAt: t.expose('lastSuccessAt', { type: 'DateTime', nullable: true, description: 'When a request last succeeded.' }),
    lastFailureAt: t.expose('lastFailureAt', { type: 'DateTime', nullable: true, description: 'When a request last failed.' }),
    lastFailure: t.exposeString('lastFailure', { nullable: true, description: 'Why a request last failed.' }),
  }),
})

const admin = { authScopes: { scope: 'admin' } } as const

const MirrorRef = builder.objectRef<{ upstreamUrl: string }>('Mirror').implement({
  description: 'The mirror of another package server.',
  fields: (t) => ({
    url: t.field({
      type: 'URL',
      description: 'Hosted URL of the mirror, for PUB_HOSTED_URL.',
      resolve: (_mirror, _args, { request, config }) => `${publicUrl(request, config.SERVER_URL)}/mirror`,
    }),
    upstreamUrl: t.expose('upstreamUrl', { type: 'URL', description: 'URL of the upstream server (UPSTREAM_URL).' }),
    access: t.field({
      type: MirrorAccess,
      description: 'Who may read the mirror (UPSTREAM_ACCESS).',
      resolve: (_mirror, _args, { config }) => config.UPSTREAM_ACCESS,
    }),
    ttlSeconds: t.int({
      ...admin,
      description: 'Time in seconds after which a listing is compared with the upstream server again (UPSTREAM_TTL). For administrators.',
      resolve: (_mirror, _args, { config }) => config.UPSTREAM_TTL,
    }),
    excludedNames: t.stringList({
      ...admin,
      extensions: { size: 5 },
      description:
        'Names that are never requested from the upstream server, with `*` for any characters (UPSTREAM_NEVER). For administrators.',
      resolve: (_mirror, _args, { config }) => [...config.UPSTREAM_NEVER],
    }),
    cache: t.field({
      ...admin,
      type: CacheRef,
      extensions: { cost: 20 },
      description: 'What the mirror keeps. For administrators.',
      resolve: (_mirror, _args, { em }) => mirrorSize(em),
    }),
    health: t.field({
      ...admin,
      type: HealthRef,
      description: 'Requests to the upstream server. For administrators.',
      resolve: (_mirror, _args, context) => healthOf(context),
    }),
  }),
})

builder.queryField('mirror', (t) =>
  t.field({
    skipTypeScopes: true,
    type: MirrorRef,
    nullable: true,
    description: 'The mirror of another package server; null without UPSTREAM_URL. For callers who may read it.',
    resolve: (_root, _args, context) => {
      const { UPSTREAM_URL: upstreamUrl } = context.config
      if (upstreamUrl === undefined) return null
      requireMirror(context)
      return { upstreamUrl }
    },
  }),
)

const FailureRef = builder.objectRef<NonNullable<MirroredPackage['failure']>>('MirrorFailure').implement({
  description: 'A failed request to the upstream server.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When the request failed.' }),
    reason: t.exposeString('reason', { description: 'Why the request failed.' }),
  }),
})

const MirroredPackageRef = builder.objectRef<MirroredPackage>('MirroredPackage').implement({
  description: 'What the mirror keeps of a package of the upstream server.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    archives: t.exposeInt('archives', { description: 'Number of archives in the mirror.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Size of the files of the package, in bytes.' }),
    usedAt: t.expose('usedAt', { type: 'DateTime', description: 'When a file of the package was last sent, accurate to half a day.' }),
    checkedAt: t.expose('checkedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the listing was last compared with the upstream server; null if it never was.',
    }),
    failure: t.expose('failure', {
      type: FailureRef,
      nullable: true,
      description: 'The last failed request for a file of the package; null if all succeeded since.',
    }),
  }),
})

builder.queryField('mirroredPackages', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: MirroredPackageRef,
      extensions: { cost: 20 },
      description: 'What the mirror keeps of packages of the upstream server, most recently used first. For administrators.',
      args: {
        query: t.arg.string(partOf('Part of the name.', 'q')),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { query, ...page }, { em }) => listMirrored(em, query, page),
    },
    connectionOf(MirroredPackageRef),
  ),
)

const name = { required: true, description: 'Name of the package.' } as const

builder.mutationField('removeMirroredPackage', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RemoveMirroredPackagePayload', 'A package that was removed from the mirror.', {
      removedName: { type: 'String', description: 'Name of the package.' },
    }),
    extensions: { formerResult: true },
    description:
      'Removes all files of an upstream package from the mirror. They are fetched again when they are requested. Their former SHA-256 hashes are forgotten.',
    typeOptions: { description: 'The package to remove.' },
    argOptions: { description: 'The package.' },
    input: { name: t.input.string(name) },
    resolve: (_root, { input }, context) => done(removeMirrored(context, input.name), { removedName: input.name }),
  }),
)

builder.mutationField('refreshMirroredPackage', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RefreshMirroredPackagePayload', 'The refreshed package.', {
      package: { type: MirroredPackageRef, description: 'What the mirror keeps of the package.' },
    }),
    description: 'Compares the documents of an upstream package that are in the mirror with the upstream server now.',
    typeOptions: { description: 'The package to refresh.' },
    argOptions: { description: 'The package.' },
    input: { name: t.input.string(name) },
    resolve: async (_root, { input }, context) => ({ package: await refreshMirrored(context, input.name) }),
  }),
)

const firstSchema = z.int().min(1, 'must be from 1 to 10').max(10, 'must be from 1 to 10')

const MatchRef = builder.objectRef<{ name: string }>('UpstreamMatch').implement({
  description: 'A package of the upstream server that a search found.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    description: t.string({
      nullable: true,
      extensions: { cost: 5 },
      description: 'Description, if the listing of the package is in the mirror.',
      resolve: ({ name }, _args, context) => describedIn(context, name),
    }),
  }),
})

builder.queryField('searchUpstream', (t) =>
  t.field({
    skipTypeScopes: true,
    extensions: { cost: 20, size: 10 },
    type: [MatchRef],
    description:
      'Packages of the upstream server by name: an exact match, then names that begin with the text, then names that contain it. Names of this server are left out. Empty without a mirror. For callers who may read the mirror.',
    args: {
      query: t.arg.string({ required: true, description: 'A package name or a part of it.', extensions: { maxLength: 200 } }),
      first: t.arg.int({ required: true, description: 'Number of packages, from 1 to 10.', validate: firstSchema }),
    },
    resolve: async (_root, { query, first }, context) => (await searchNames(context, query, first)).map((name) => ({ name })),
  }),
)
