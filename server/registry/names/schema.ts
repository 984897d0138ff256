import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf, done, payload } from '../../platform/graphql/payload.ts'
import { notNegative, partOf } from '../../platform/graphql/connections.ts'
import { isKnownUpstream } from '../mirror/catalog/names.ts'
import { packageName } from '../packages/parameters.ts'
import { ofPublicPackage, PackageRef } from '../packages/refs.ts'
import { loadPackageByName, loadReadablePackage } from '../packages/service.ts'
import { loadUser } from '../../accounts/users/service.ts'
import { UserRef } from '../../accounts/users/refs.ts'
import { approveName, rejectName, listConfusable, listReserved, loadConfusion, loadReserved, freeName } from './service.ts'
import type { ConfusableName, ReservedName } from './entity.ts'

const ReservedNameRef = builder.objectRef<ReservedName>('ReservedName').implement({
  description: 'The reserved name of a deleted package. It cannot be used until an administrator frees it.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name.' }),
    reservedAt: t.expose('reservedAt', { type: 'DateTime', description: 'When the package was deleted.' }),
    reservedBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'User who deleted the package; null if the account was deleted or the user was not recorded.',
      resolve: ({ reservedBy }, _args, context) => (reservedBy ? loadUser(context, reservedBy.id) : null),
    }),
    isUpstream: t.boolean({
      description:
        'Whether the mirrored server has a package with this name, or had one, as far as the mirror knows. The mirror serves it once the name is free.',
      resolve: ({ name }, _args, context) => isKnownUpstream(context, name),
    }),
  }),
})

const ConfusableNameRef = builder.objectRef<ConfusableName>('ConfusableName').implement({
  description: 'An unapproved package name that could be confused with others, or that the mirrored server has.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name.' }),
    similarNames: t.stringList({
      description: 'Names of other packages that the name could be confused with; at most five.',
      resolve: ({ name, similarNames }) => similarNames.split(' ').filter((other) => other !== name),
    }),
    isUpstream: t.boolean({
      description: 'Whether the mirrored server has a package with this name.',
      resolve: ({ name, similarNames }) => similarNames.split(' ').includes(name),
    }),
    upstreamReason: t.exposeString('upstreamReason', {
      nullable: true,
      description: 'Why the name needs approval because of the mirrored server, as an independent clause; null if it does not.',
    }),
    noticedAt: t.expose('noticedAt', { type: 'DateTime', description: 'When a user last tried to publish a package with this name.' }),
    requestedBy: t.field({
      type: UserRef,
      nullable: true,
      description: 'The user who tried; null if the account was deleted.',
      resolve: ({ requestedBy }, _args, context) => (requestedBy ? loadUser(context, requestedBy.id) : null),
    }),
    package: t.field({
      type: PackageRef,
      nullable: true,
      description: 'The package; null while the name awaits approval.',
      resolve: ({ name }, _args, context) => loadPackageByName(context, name),
    }),
  }),
})

builder.objectFields(PackageRef, (t) => ({
  confusableWith: t.stringList({
    ...ofPublicPackage,
    nullable: true,
    description:
      'Names of other packages that this name could be confused with, until an administrator approves it, or null. Without signing in, only public packages.',
    resolve: async (pkg, _args, context) => {
      const names = ((await loadConfusion(context, pkg.name)) ?? []).filter((name) => name !== pkg.name)
      const others = await Promise.all(names.map((name) => loadReadablePackage(context, name)))
      return orNull(others.flatMap((other) => other?.name ?? []))
    },
  }),
  isUpstreamName: t.withAuth({ scope: 'admin' }).boolean({
    description:
      'Whether the mirrored server has a package with this name, or had one, as far as the mirror knows. Always false without a mirror. For administrators.',
    resolve: ({ name }, _args, context) => isKnownUpstream(context, name),
  }),
  upstreamNamesake: t.field({
    ...ofPublicPackage,
    type: 'URL',
    nullable: true,
    description:
      'URL of the package with the same name on the mirrored server, if the mirror knew it when this package was created, until an administrator approves the name; otherwise null.',
    resolve: async (pkg, _args, context) => {
      const { UPSTREAM_URL: upstream } = context.config
      const isUpstream = upstream !== undefined && (await loadConfusion(context, pkg.name))?.includes(pkg.name)
      return isUpstream ? `${upstream}/packages/${pkg.name}` : null
    },
  }),
  confusableWithReserved: t.stringList({
    ...ofPublicPackage,
    nullable: true,
    description: 'Reserved names of deleted packages that this name could be confused with, or null. Null without signing in.',
    resolve: async (pkg, _args, context) => {
      const names = context.viewer ? ((await loadConfusion(context, pkg.name)) ?? []) : []
      const reserved = await Promise.all(names.map((name) => loadReserved(context, name)))
      return orNull(reserved.flatMap((one) => one?.name ?? []))
    },
  }),
}))

const orNull = (names: string[]): string[] | null => (names.length > 0 ? names : null)

builder.queryFields((t) => ({
  reservedNames: t.withAuth({ scope: 'admin' }).connection(
    {
      type: ReservedNameRef,
      description: 'Reserved names of deleted packages, in order. For administrators.',
      args: {
        query: t.arg.string(partOf('Part of the name.', 'q')),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { query, ...page }, { em }) => listReserved(em, { ...page, q: query }),
    },
    connectionOf(ReservedNameRef),
  ),
  confusableNames: t.withAuth({ scope: 'admin' }).connection(
    {
      type: ConfusableNameRef,
      description: 'Unapproved names that could be confused with others or that the mirrored server has, in order. For administrators.',
      args: {
        query: t.arg.string(partOf('Part of the name.', 'q')),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { query, ...page }, { em }) => listConfusable(em, { ...page, q: query }),
    },
    connectionOf(ConfusableNameRef),
  ),
}))

const NameInput = builder.inputType('PackageNameInput', {
  description: 'A package name.',
  fields: (t) => ({ package: t.string({ required: true, description: 'The name.', validate: packageName }) }),
})

const changes = {
  freeName: [
    freeName,
    'Frees the name of a deleted package, so that it can be used again, and approves it in spite of similar names. Numbers of deleted versions remain unusable.',
  ],
  approveName: [
    approveName,
    'Approves a name that could be confused with others or that the mirrored server has, so that packages can be published under it without a warning.',
  ],
  rejectName: [rejectName, 'Rejects the request for a name, or revokes its approval, while no package has the name.'],
} as const

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

for (const [mutation, [change, description]] of Object.entries(changes)) {
  builder.mutationField(mutation, (t) =>
    t.withAuth({ scope: 'admin' }).field({
      type: payload(`${capitalize(mutation)}Payload`, 'The result of a decision about a name.', {
        name: { type: 'String', description: 'The name.' },
      }),
      extensions: { formerResult: true },
      description: `${description} For administrators.`,
      args: { input: t.arg({ type: NameInput, required: true, description: 'The name.' }) },
      resolve: (_root, { input }, context) => done(change(context, input.package), { name: input.package }),
    }),
  )
}
