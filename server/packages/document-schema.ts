import { renderDocument } from './documents.ts'
import { DocumentRef } from './refs.ts'

DocumentRef.implement({
  description: 'A text that came with a version, up to 256 KiB of it.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    path: t.string({ description: 'Where it is in the archive.', resolve: ({ document }) => document.path }),
    source: t.string({ description: 'The text as it was written.', resolve: ({ document }) => document.content }),
    html: t.string({
      description: 'The text as HTML that is safe to show: no scripts, no styles, ids that begin with `doc-`. Relative links lead to the repository, or nowhere.',
      resolve: ({ document, version }) => renderDocument(version, document),
    }),
  }),
})
