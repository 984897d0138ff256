import { UserRef } from '../../accounts/users/refs.ts'
import { loadUser } from '../../accounts/users/service.ts'
import { viewerCan } from '../../platform/access/policy.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { canAdminister } from '../packages/policy.ts'
import { ofPublicPackage, ofPublicVersion, PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { loadPackage } from '../packages/service.ts'
import { loadPublisher } from '../publishers/list.ts'
import { canAdministerPublisher } from '../publishers/policy.ts'
import { PublisherRef } from '../publishers/refs.ts'
import type { TrustedPublisher } from './entity.ts'
import { TokenIssuerRef } from './issuer-schema.ts'
import { loadIssuer, loadPackageRules, loadProvenance, loadPublisherRules, loadRule } from './list.ts'
import type { Provenance } from './provenance.ts'

const ClaimPatternRef = builder.objectRef<{ claim: string; pattern: string }>('ClaimPattern').implement({
  description: 'A claim that a token must have.',
  fields: (t) => ({
    claim: t.exposeString('claim', { description: 'Name of the claim.' }),
    pattern: t.exposeString('pattern', { description: 'Value of the claim; `*` stands for any characters.' }),
  }),
})

export const TrustedPublisherRef = builder.objectRef<TrustedPublisher>('TrustedPublisher')

builder.node(TrustedPublisherRef, {
  description: 'A rule that allows jobs of a CI system to publish a package, or all packages of a publisher, without a stored secret.',
  id: { resolve: ({ id }) => id },
  loadOne: (id, context) => loadRule(context, id),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    issuer: t.field({
      type: TokenIssuerRef,
      description: 'The CI system.',
      resolve: ({ issuer }, _args, context) => loadIssuer(context, issuer.id),
    }),
    package: t.field({
      type: PackageRef,
      nullable: true,
      description: 'The package that jobs can publish; null for a rule of a publisher.',
      resolve: (rule, _args, context) => (rule.package ? loadPackage(context, rule.package.id) : null),
    }),
    publisher: t.field({
      type: PublisherRef,
      nullable: true,
      description: 'The publisher whose packages jobs can publish, also new ones; null for a rule of a package.',
      resolve: (rule, _args, context) => (rule.publisher ? loadPublisher(context, rule.publisher.id) : null),
    }),
    label: t.exposeString('label', { description: 'Note for people; may be empty.' }),
    repository: t.exposeString('repository', {
      nullable: true,
      description: 'Repository of the job, as the CI system names it, such as `acme/acme_ui`; `*` stands for any characters. Null for any.',
    }),
    workflow: t.exposeString('workflow', {
      nullable: true,
      description: 'Workflow file, such as `publish.yml`, or with a repository for a reusable workflow of another one; null for any.',
    }),
    environment: t.exposeString('environment', { nullable: true, description: 'Deployment environment of the job; null for any.' }),
    events: t.stringList({
      extensions: { size: 3 },
      description: 'Kinds of events that may start the job, such as `push`; empty for any. Jobs of pull requests never publish.',
      resolve: ({ events }) => events.split(',').filter(Boolean),
    }),
    tagPattern: t.exposeString('tagPattern', {
      nullable: true,
      description: 'Tag from which a version is published, with `{{version}}` and optionally `{{name}}`; null for any ref.',
    }),
    isReadOnly: t.exposeBoolean('isReadOnly', { description: 'Whether jobs can only read packages.' }),
  }),
})

builder.objectFields(TrustedPublisherRef, (t) => ({
  claims: t.field({
    extensions: { size: 3 },
    type: [ClaimPatternRef],
    description: 'Further claims that the token must have.',
    resolve: ({ claims }) => Object.entries(JSON.parse(claims) as Record<string, string>).map(([claim, pattern]) => ({ claim, pattern })),
  }),
  lockedRepositoryId: t.exposeString('lockedRepositoryId', {
    nullable: true,
    description:
      'Id of the repository that used the rule first. Another repository of the same name is refused. Null before the first use.',
  }),
  lockedOwnerId: t.exposeString('lockedOwnerId', {
    nullable: true,
    description: 'Id of the owner of the repository that used the rule first; null before, or if the CI system has none.',
  }),
  createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the rule was added.' }),
  createdBy: t.field({
    type: UserRef,
    nullable: true,
    description: 'User who added the rule; null if the account was deleted.',
    resolve: ({ createdBy }, _args, context) => (createdBy ? loadUser(context, createdBy.id) : null),
  }),
  lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'When a job last used the rule.' }),
  lastUse: t.exposeString('lastUse', { nullable: true, description: 'What that job did, as a sentence.' }),
  lastRejectedAt: t.expose('lastRejectedAt', { type: 'DateTime', nullable: true, description: 'When the rule last refused a job.' }),
  lastRejection: t.exposeString('lastRejection', { nullable: true, description: 'Why the rule refused that job, as a sentence.' }),
}))

const manual = 'Whether people can publish with their own credentials. Otherwise only jobs of trusted publishers can.'

builder.objectFields(PackageRef, (t) => ({
  trustedPublishers: t.field({
    extensions: { size: 5 },
    type: [TrustedPublisherRef],
    nullable: true,
    description: 'Rules that allow jobs to publish the package, without those of its publisher. Null except for its administrators.',
    resolve: async (pkg, _args, context) =>
      (await viewerCan(context, canAdminister, pkg)) ? ((await loadPackageRules(context, pkg.id)) ?? []) : null,
  }),
  allowsManualPublishing: t.exposeBoolean('allowsManualPublishing', { ...ofPublicPackage, description: manual }),
}))

builder.objectFields(PublisherRef, (t) => ({
  trustedPublishers: t.field({
    extensions: { size: 5 },
    type: [TrustedPublisherRef],
    nullable: true,
    description: 'Rules that allow jobs to publish packages of the publisher. Null except for its admins.',
    resolve: async (publisher, _args, context) =>
      (await viewerCan(context, canAdministerPublisher, publisher)) ? ((await loadPublisherRules(context, publisher.id)) ?? []) : null,
  }),
  allowsManualPublishing: t.exposeBoolean('allowsManualPublishing', { description: `${manual} Applies to all packages of the publisher.` }),
}))

const text = (
  key: 'repository' | 'repositoryId' | 'commit' | 'ref' | 'workflow' | 'environment' | 'event' | 'runId',
  description: string,
) => ({ ...ofPublicVersion, nullable: true, description, resolve: (provenance: Provenance) => provenance[key] }) as const
const url = (key: 'repositoryUrl' | 'commitUrl' | 'runUrl', description: string) =>
  ({ ...ofPublicVersion, type: 'URL', nullable: true, description, resolve: (provenance: Provenance) => provenance[key] }) as const

const ProvenanceRef = builder.objectRef<Provenance>('Provenance').implement({
  description: 'The job of a CI system that published a version. Members are null if the CI system does not report them.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    issuerUrl: t.expose('issuerUrl', { ...ofPublicVersion, type: 'URL', description: 'URL of the issuer of its token.' }),
    issuerName: t.exposeString('issuerName', { ...ofPublicVersion, description: 'Name of the CI system.' }),
    repository: t.string(text('repository', 'Repository, as the CI system names it.')),
    repositoryId: t.string(text('repositoryId', 'Id of the repository, which stays when it is renamed.')),
    repositoryUrl: t.field(url('repositoryUrl', 'URL of the repository.')),
    commit: t.string(text('commit', 'Git commit.')),
    commitUrl: t.field(url('commitUrl', 'URL of the commit.')),
    ref: t.string(text('ref', 'Git ref, such as `refs/tags/v1.0.0`.')),
    workflow: t.string(text('workflow', 'Workflow file.')),
    environment: t.string(text('environment', 'Deployment environment.')),
    event: t.string(text('event', 'Kind of event that started the job.')),
    runId: t.string(text('runId', 'Id of the run.')),
    runUrl: t.field(url('runUrl', 'URL of the run.')),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  provenance: t.field({
    ...ofPublicVersion,
    type: ProvenanceRef,
    nullable: true,
    description: 'The job that published the version; null if a person did.',
    resolve: ({ id }, _args, context) => loadProvenance(context, id),
  }),
}))
