import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import type { Chain } from '../packages/dependents/breakage.ts'
import { packageName, unknownPackage } from '../packages/parameters.ts'
import { findPackage } from '../packages/service.ts'
import { ofPublicPackage, PackageRef } from '../packages/refs.ts'
import { changeVisibility } from './change-visibility.ts'
import { type Companion, previewVisibility, type VisibilityPreview, visibilityState, type VisibilityState } from './preview.ts'
import { VisibilityEnum } from '../packages/visibility/refs.ts'

const State = builder.objectRef<VisibilityState>('VisibilityState').implement({
  description: 'Who can read a package, and why: it is public when the environment, the switch and the package itself all say so.',
  fields: (t) => ({
    visibility: t.expose('visibility', { type: VisibilityEnum, description: "The package's own setting." }),
    permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', {
      description: 'Whether PUBLIC_PACKAGES_ENABLED permits public packages at all.',
    }),
    enabled: t.exposeBoolean('enabled', { description: "Whether the server's switch is on." }),
    requiresServerAdmin: t.exposeBoolean('requiresServerAdmin', {
      description: 'Whether only server administrators make packages public or private.',
    }),
    viewerCanChange: t.exposeBoolean('viewerCanChange', { description: 'Whether you may change it.' }),
  }),
})

const ChainRef = builder.objectRef<Chain>('DependencyChain').implement({
  description: 'Packages that depend on each other: the first needs the second, and so on.',
  fields: (t) => ({ names: t.stringList({ description: 'Their names.', resolve: (chain) => chain }) }),
})

const CompanionRef = builder.objectRef<Companion>('VisibilityCompanion').implement({
  description: 'A private package that has to become public along with another one.',
  fields: (t) => ({
    package: t.expose('package', { type: PackageRef, description: 'The package.' }),
    chain: t.expose('chain', { type: ChainRef, description: 'The dependencies that lead to it.' }),
    viewerCanAdminister: t.exposeBoolean('viewerCanAdminister', {
      description: 'Whether you administer it; without that you cannot take it along.',
    }),
  }),
})

const Preview = builder.objectRef<VisibilityPreview>('VisibilityPreview').implement({
  description: 'What a change of visibility would do.',
  fields: (t) => ({
    visibility: t.expose('visibility', { type: VisibilityEnum, description: 'What it would become.' }),
    closure: t.expose('closure', { type: [CompanionRef], description: 'Going public: the private packages that come along.' }),
    breaks: t.expose('breaks', { type: [ChainRef], description: 'Going private: the public packages that would break, and why.' }),
  }),
})

const PreviewVisibilityInput = builder.inputType('PreviewVisibilityInput', {
  description: 'A change of visibility to preview.',
  fields: (t) => ({ visibility: t.field({ type: VisibilityEnum, required: true, description: 'What it would become.' }) }),
})

builder.objectFields(PackageRef, (t) => ({
  visibility: t.expose('visibility', { ...ofPublicPackage, type: VisibilityEnum, description: 'Who can read it.' }),
  visibilityState: t.withAuth({ scope: 'read' }).field({
    extensions: { cost: 20 },
    type: State,
    description: 'Who can read it and why, for whoever administers it.',
    resolve: (pkg, _args, context) => visibilityState(context, pkg),
  }),
  visibilityPreview: t.withAuth({ scope: 'read' }).field({
    extensions: { cost: 100 },
    type: Preview,
    description: 'What a change of visibility would do, for whoever administers it.',
    args: { input: t.arg({ type: PreviewVisibilityInput, required: true, description: 'The change.' }) },
    resolve: (pkg, { input }, context) => previewVisibility(context, pkg, input.visibility),
  }),
}))

builder.mutationField('changeVisibility', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('ChangeVisibilityPayload', 'The result of a change of visibility.', {
      package: { type: PackageRef, description: 'The package.' },
      changed: { type: ['String'], description: 'Names of all packages that were changed.' },
    }),
    description: 'Makes a package public, together with the private packages it needs, or private.',
    typeOptions: { description: 'A change of visibility.' },
    argOptions: { description: 'The change.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      visibility: t.input.field({ type: VisibilityEnum, required: true, description: 'The new visibility.' }),
      confirm: t.input.string({ required: true, description: 'The name of the package again, as confirmation.' }),
      closure: t.input.stringList({
        description: 'When it becomes public: exactly the private packages that become public with it; none when left out.',
      }),
      acceptBreakage: t.input.boolean({ description: 'When it becomes private: whether public packages that depend on it may break.' }),
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
