import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { packageName, unknownPackage } from '../packages/parameters.ts'
import { findPackage } from '../packages/service.ts'
import { ChainRef, ofPublicPackage, PackageRef, VisibilityEnum } from '../packages/refs.ts'
import { changeVisibility } from './service.ts'
import {
  type Companion,
  previewVisibility,
  type VisibilityPreview,
  visibilityState,
  type VisibilityState,
  countEveryPackage,
  countPublicPackages,
  publicPackagesStatus,
  type PublicPackagesStatus,
  setPublicPackages,
} from './preview.ts'

/** Fields that both states of public packages have. */
const statusFields = (t: StatusFields) => ({
  permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', {
    description: 'Whether PUBLIC_PACKAGES_ENABLED permits public packages.',
  }),
  enabled: t.exposeBoolean('enabled', { description: 'Whether the server setting for public packages is on.' }),
  requiresServerAdmin: t.exposeBoolean('requiresServerAdmin', {
    description: 'Whether only server administrators can change the visibility of packages.',
  }),
})

type StatusFields = Pick<PothosSchemaTypes.ObjectFieldBuilder<typeof builder.$inferSchemaTypes, PublicPackagesStatus>, 'exposeBoolean'>

const State = builder.objectRef<VisibilityState>('VisibilityState').implement({
  description:
    'Who can read a package, and why. A package is public if the environment, the server setting and the package itself all allow it.',
  fields: (t) => ({
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'Visibility setting of the package.' }),
    ...statusFields(t),
    viewerCanChange: t.exposeBoolean('viewerCanChange', { description: 'Whether you can change the visibility.' }),
  }),
})

const CompanionRef = builder.objectRef<Companion>('VisibilityCompanion').implement({
  description: 'A private dependency that must become public together with a package.',
  fields: (t) => ({
    package: t.expose('package', { type: PackageRef, description: 'The package.' }),
    chain: t.expose('chain', { type: ChainRef, description: 'The dependencies that lead to the package.' }),
    viewerCanAdminister: t.exposeBoolean('viewerCanAdminister', {
      description: 'Whether you administer the package. Otherwise you cannot make it public.',
    }),
  }),
})

const Preview = builder.objectRef<VisibilityPreview>('VisibilityPreview').implement({
  description: 'Effects of a change of visibility.',
  fields: (t) => ({
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'The new visibility.' }),
    closure: t.expose('closure', {
      type: [CompanionRef],
      description: 'When making the package public: private packages that must become public too.',
    }),
    breaks: t.expose('breaks', {
      type: [ChainRef],
      description: 'When making the package private: public packages that would break, and why.',
    }),
  }),
})

const PreviewVisibilityInput = builder.inputType('PreviewVisibilityInput', {
  description: 'A change of visibility to preview.',
  fields: (t) => ({ visibility: t.field({ type: VisibilityEnum, required: true, description: 'The new visibility.' }) }),
})

builder.objectFields(PackageRef, (t) => ({
  visibility: t.expose('visibility', { ...ofPublicPackage, type: VisibilityEnum, description: 'Who can read the package.' }),
  visibilityState: t.withAuth({ scope: 'read' }).field({
    extensions: { cost: 20 },
    type: State,
    description: 'Who can read the package, and why. Requires permission to administer the package.',
    resolve: (pkg, _args, context) => visibilityState(context, pkg),
  }),
  visibilityPreview: t.withAuth({ scope: 'read' }).field({
    extensions: { cost: 100 },
    type: Preview,
    description: 'Effects of a change of visibility. Requires permission to administer the package.',
    args: { input: t.arg({ type: PreviewVisibilityInput, required: true, description: 'The change.' }) },
    resolve: (pkg, { input }, context) => previewVisibility(context, pkg, input.visibility),
  }),
}))

builder.mutationField('changeVisibility', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('ChangeVisibilityPayload', 'The result of a change of visibility.', {
      package: { type: PackageRef, description: 'The package.' },
      changed: { type: ['String'], description: 'Names of all changed packages.' },
    }),
    description: 'Makes a package public, together with its private dependencies, or private.',
    typeOptions: { description: 'A change of visibility.' },
    argOptions: { description: 'The change.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      visibility: t.input.field({ type: VisibilityEnum, required: true, description: 'The new visibility.' }),
      confirm: t.input.string({ required: true, description: 'The name of the package again, as confirmation.' }),
      closure: t.input.stringList({
        description: 'When making the package public: exactly the private dependencies that must become public too. Defaults to none.',
      }),
      acceptBreakage: t.input.boolean({
        description: 'When making the package private: whether public packages that depend on it may break.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const changed = await changeVisibility(context, input)
      const pkg = await findPackage(context, input.package)
      // The package was deleted after the change.
      if (!pkg) throw unknownPackage(input.package)
      return { package: pkg, changed }
    },
  }),
)

const PublicPackages = builder.objectRef<PublicPackagesStatus>('PublicPackages').implement({
  description:
    'Settings for public packages on this server. A package can be read without signing in only if the environment permits it, the server setting is on, and the package itself is public.',
  fields: (t) => ({
    ...statusFields(t),
    totalPackages: t.int({ description: 'Number of packages.', resolve: (_status, _args, context) => countEveryPackage(context) }),
    publicPackages: t.int({
      description: 'Number of public packages.',
      resolve: (_status, _args, context) => countPublicPackages(context),
    }),
  }),
})

builder.queryField('publicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: PublicPackages,
    description: 'Settings for public packages on this server. For administrators.',
    resolve: (_root, _args, context) => publicPackagesStatus(context),
  }),
)

builder.mutationField('updatePublicPackages', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UpdatePublicPackagesPayload', 'The settings after the change.', {
      publicPackages: { type: PublicPackages, description: 'Settings for public packages on this server.' },
    }),
    description: 'Enables or disables reading without signing in for the whole server. Takes effect with the next request.',
    typeOptions: { description: 'New settings for public packages.' },
    argOptions: { description: 'The new settings.' },
    input: {
      enabled: t.input.boolean({ required: true, description: 'Whether public packages can be read without signing in.' }),
      requiresServerAdmin: t.input.boolean({
        description: 'Whether only server administrators can change the visibility of packages. Unchanged if omitted.',
      }),
    },
    resolve: async (_root, { input }, context) => ({ publicPackages: await setPublicPackages(context, input) }),
  }),
)
