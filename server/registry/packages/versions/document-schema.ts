import { builder } from '../../../platform/graphql/builder.ts'
import type { Context } from '../../../platform/access/context.ts'
import { findDocument, readSource, renderDocument } from './documents.ts'
import type { DocumentKind, PackageVersion } from '../entity.ts'
import { DocumentRef } from './refs.ts'
import { ofPublicVersion, PackageVersionRef } from '../refs.ts'

DocumentRef.implement({
  description: 'A document from the archive of a version, truncated to 256 KiB.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    path: t.exposeString('path', { ...ofPublicVersion, description: 'Path in the archive.' }),
    source: t.string({
      ...ofPublicVersion,
      extensions: { cost: 3 },
      description: 'The original text.',
      resolve: (document, _args, context) => readSource(context, document),
    }),
    html: t.string({
      ...ofPublicVersion,
      extensions: { cost: 10 },
      description:
        'The text as sanitized HTML: no scripts or styles, ids prefixed with `doc-`. Relative links point to the repository, or are removed if it is unknown.',
      resolve: (document, _args, context) => renderDocument(context, document),
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  readme: t.field({ ...ofPublicVersion, type: DocumentRef, nullable: true, description: 'The README.', resolve: document('readme') }),
  changelog: t.field({
    ...ofPublicVersion,
    type: DocumentRef,
    nullable: true,
    description: 'The changelog.',
    resolve: document('changelog'),
  }),
  license: t.field({ ...ofPublicVersion, type: DocumentRef, nullable: true, description: 'The license.', resolve: document('license') }),
  example: t.field({
    ...ofPublicVersion,
    type: DocumentRef,
    nullable: true,
    description: 'The example.',
    resolve: document('example'),
  }),
}))

function document(kind: DocumentKind) {
  return (version: PackageVersion, _args: object, context: Context) => findDocument(context, version, kind)
}
