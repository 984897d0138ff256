import type { SignedInContext } from '../../platform/access/context.ts'
import { isServerAdmin } from '../../platform/access/roles.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf, done, payload } from '../../platform/graphql/payload.ts'
import { bodyLimit } from '../../platform/http/failures.ts'
import { renderText } from '../markdown/service.ts'
import type { Package } from '../packages/entity.ts'
import { PackageRef } from '../packages/refs.ts'
import { Advisory } from './entity.ts'
import { importAdvisories, type Importer, removeAdvisory, withdrawAdvisory } from './import.ts'
import { type KnownAdvisory, listAdvisories, packagesOf, readAdvisory } from './service.ts'
import { AdvisorySeverity } from './refs.ts'
import { statedSeverity } from './severity.ts'

export const AdvisoryRef = builder.objectRef<KnownAdvisory>('Advisory')

const ReferenceRef = builder.objectRef<{ type: string; url: string }>('AdvisoryReference').implement({
  description: 'A reference of an advisory.',
  fields: (t) => ({
    kind: t.exposeString('type', { description: 'Type of the reference in OSV, such as `ADVISORY`, `FIX` or `WEB`.' }),
    url: t.expose('url', { type: 'URL', description: 'URL of the reference.' }),
  }),
})

const AdvisoryPackageRef = builder.objectRef<{ name: string; pkg: Package | null }>('AdvisoryPackage').implement({
  description: 'A package that an advisory affects.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    package: t.expose('pkg', { type: PackageRef, nullable: true, description: 'The package; null if it is not on this server.' }),
  }),
})

builder.node(AdvisoryRef, {
  description: 'A security advisory about packages of this server.',
  id: { resolve: ({ row }) => row.id },
  loadOne: async (id, { em, scopes }) => {
    const row = isServerAdmin({ scopes }) ? await em.findOne(Advisory, { id }) : null
    return row && readAdvisory(row)
  },
  fields: (t) => ({
    osvId: t.string({ description: 'OSV identifier, such as GHSA-9v85-q87q-g4vg.', resolve: ({ row }) => row.osvId }),
    summary: t.string({ description: 'One-line summary.', resolve: ({ row }) => row.summary }),
    details: t.string({ nullable: true, description: 'Details in Markdown.', resolve: ({ osv }) => osv.details ?? null }),
    detailsHtml: t.string({
      nullable: true,
      description: 'Details as sanitized HTML.',
      resolve: ({ osv }, _args, context) => (osv.details ? renderText(context, { source: osv.details, links: { kind: 'whole' } }) : null),
    }),
    aliases: t.stringList({
      extensions: { size: 5 },
      description: 'Other identifiers of the same vulnerability, such as CVE numbers.',
      resolve: ({ osv }) => osv.aliases ?? [],
    }),
    severity: t.field({
      type: AdvisorySeverity,
      nullable: true,
      description: 'Severity, where the advisory states one.',
      resolve: ({ osv }) => statedSeverity(osv),
    }),
    cvss: t.string({
      nullable: true,
      description: 'Severity as a CVSS vector.',
      resolve: ({ osv }) => osv.severity?.find(({ type }) => type.startsWith('CVSS'))?.score ?? null,
    }),
  }),
})

builder.objectFields(AdvisoryRef, (t) => ({
  references: t.field({
    extensions: { size: 10 },
    type: [ReferenceRef],
    description: 'Further reading.',
    resolve: ({ osv }) => osv.references ?? [],
  }),
  publishedAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'When the advisory was published.',
    resolve: ({ osv }) => (osv.published ? new Date(osv.published) : null),
  }),
  modifiedAt: t.field({ type: 'DateTime', description: 'When the advisory last changed.', resolve: ({ row }) => row.modifiedAt }),
  withdrawnAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'When the advisory was withdrawn. Withdrawn advisories no longer apply to packages.',
    resolve: ({ row }) => row.withdrawnAt ?? null,
  }),
  packages: t.field({
    extensions: { size: 5 },
    type: [AdvisoryPackageRef],
    authScopes: { scope: 'admin' },
    description: 'Affected packages, including packages that are not on this server. For administrators.',
    resolve: (advisory, _args, context) => packagesOf(context, advisory),
  }),
  osv: t.string({
    authScopes: { scope: 'admin' },
    description: 'The complete advisory in OSV format as JSON text. For administrators.',
    resolve: ({ row }) => row.document,
  }),
}))

builder.queryField('advisories', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AdvisoryRef,
      description: 'All security advisories, most recently imported first. For administrators.',
      args: { package: t.arg.string({ description: 'Returns only advisories about the package with this name.' }) },
      resolve: (_root, args, { em }) => listAdvisories(em, args.package, args),
    },
    connectionOf(AdvisoryRef),
  ),
)

const importer = ({ em, viewer, ip, now }: SignedInContext): Importer => ({ em, actor: viewer, ip, now: now() })

builder.mutationField('importAdvisories', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('ImportAdvisoriesPayload', 'Result of the import: identifiers of the advisories by outcome.', {
      imported: { type: ['String'], description: 'New advisories.' },
      updated: { type: ['String'], description: 'Advisories that replaced an older version.' },
      unchanged: { type: ['String'], description: 'Advisories that were already stored in the same or a newer version.' },
    }),
    description:
      'Imports security advisories of the ecosystem Pub, all or none. An existing advisory is replaced only by a newer one (`modified`). The packages need not exist on this server.',
    typeOptions: { description: 'Security advisories to import.' },
    argOptions: { description: 'The advisories.' },
    input: {
      osv: t.input.string({
        required: true,
        description: 'One advisory in OSV format, or a list of them, as JSON text.',
        extensions: { maxLength: bodyLimit },
      }),
    },
    resolve: (_root, { input }, context) => importAdvisories(importer(context), input.osv),
  }),
)

const osvId = { required: true, description: 'OSV identifier, such as GHSA-9v85-q87q-g4vg.' } as const

builder.mutationField('withdrawAdvisory', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('WithdrawAdvisoryPayload', 'The withdrawn advisory.', {
      advisory: { type: AdvisoryRef, description: 'The advisory.' },
    }),
    description:
      'Withdraws a security advisory. It remains stored, but no longer applies to packages. Importing a newer version can restore it.',
    typeOptions: { description: 'The advisory to withdraw.' },
    argOptions: { description: 'The advisory.' },
    input: { osvId: t.input.string(osvId) },
    resolve: async (_root, { input }, context) => ({ advisory: readAdvisory(await withdrawAdvisory(importer(context), input.osvId)) }),
  }),
)

builder.mutationField('removeAdvisory', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RemoveAdvisoryPayload', 'An advisory that was deleted.', {
      removedOsvId: { type: 'String', description: 'OSV identifier of the advisory.' },
    }),
    extensions: { formerResult: true },
    description: 'Deletes a security advisory.',
    typeOptions: { description: 'The advisory to delete.' },
    argOptions: { description: 'The advisory.' },
    input: { osvId: t.input.string(osvId) },
    resolve: (_root, { input }, context) => done(removeAdvisory(importer(context), input.osvId), { removedOsvId: input.osvId }),
  }),
)
