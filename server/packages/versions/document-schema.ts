import { builder } from '../../graphql/builder.ts'
import type { Context } from '../../access/context.ts'
import { findDocument, readSource, renderDocument } from './documents.ts'
import type { DocumentKind, PackageVersion } from '../entity.ts'
import { DocumentRef } from './refs.ts'
import { ofPublicVersion, PackageVersionRef } from '../refs.ts'

DocumentRef.implement({
  description: 'A text that came with a version, up to 256 KiB of it.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    path: t.exposeString('path', { ...ofPublicVersion, description: 'Where it is in the archive.' }),
    source: t.string({
      ...ofPublicVersion,
      extensions: { cost: 3 },
      description: 'The text as it was written.',
      resolve: (document, _args, context) => readSource(context, document),
    }),
    html: t.string({
      ...ofPublicVersion,
      extensions: { cost: 10 },
      description:
        'The text as HTML that is safe to show: no scripts, no styles, ids that begin with `doc-`. Relative links lead to the repository, or nowhere.',
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
    description: 'An example of its use.',
    resolve: document('example'),
  }),
}))

function document(kind: DocumentKind) {
  return (version: PackageVersion, _args: object, context: Context) => findDocument(context, version, kind)
}
