import { builder } from '../../platform/graphql/builder.ts'
import type { Package } from '../packages/entity.ts'
import { PackageRef } from '../packages/refs.ts'
import { Advisory } from './entity.ts'
import { severityOf, type Severity } from './pub-form.ts'
import { byServerAdmin, canManageAdvisories } from './policy.ts'
import { AdvisoryRef } from './refs.ts'
import { renderText } from '../markdown/service.ts'
import { listAdvisories, packagesOf, readAdvisory } from './service.ts'

const AdvisorySeverity = builder.enumType('AdvisorySeverity', {
  description: 'Severity of a security advisory.',
  values: {
    LOW: { value: 'low', description: 'Low severity.' },
    MODERATE: { value: 'moderate', description: 'Moderate severity.' },
    HIGH: { value: 'high', description: 'High severity: update soon.' },
    CRITICAL: { value: 'critical', description: 'Critical severity: update immediately.' },
  } satisfies Record<Uppercase<Severity>, { value: Severity; description: string }>,
})

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
    const row = canManageAdvisories({ scopes }) ? await em.findOne(Advisory, { id }) : null
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
      resolve: ({ osv }) => severityOf(osv),
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
    authScopes: byServerAdmin,
    description: 'Affected packages, including packages that are not on this server. For administrators.',
    resolve: (advisory, _args, context) => packagesOf(context, advisory),
  }),
  osv: t.string({
    authScopes: byServerAdmin,
    description: 'The complete advisory in OSV format as JSON text. For administrators.',
    resolve: ({ row }) => row.document,
  }),
}))

builder.queryField('advisories', (t) =>
  t.withAuth(byServerAdmin).connection(
    {
      type: AdvisoryRef,
      description: 'All security advisories, most recently imported first. For administrators.',
      args: { package: t.arg.string({ description: 'Returns only advisories about the package with this name.' }) },
      resolve: (_root, args, { em }) => listAdvisories(em, args.package, args),
    },
    { description: 'A page of advisories.' },
    { description: 'An advisory in a page.' },
  ),
)
