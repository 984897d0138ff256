import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import {
  defaultMarkdown,
  type LegalText,
  maxLegalBytes,
  readLegalDocument,
  renderLegal,
  resetLegalDocument,
  updateLegalDocument,
} from './service.ts'
import type { LegalKind } from './entity.ts'
import { isServerOwner } from '../../platform/access/roles.ts'

/** Text of a legal page. The limit applies to its size in UTF-8, as stored. */
const legalMarkdown = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= maxLegalBytes, `must be at most ${maxLegalBytes} bytes (256 KiB) of UTF-8`)

const legalText = { validate: legalMarkdown, extensions: { maxLength: maxLegalBytes } }

const LegalDocumentKind = builder.enumType('LegalDocumentKind', {
  description: 'The legal pages.',
  values: {
    PRIVACY: { value: 'privacy', description: 'The privacy policy, at `/privacy`.' },
    TERMS: { value: 'terms', description: 'The terms of use, at `/terms`.' },
  } satisfies Record<Uppercase<LegalKind>, { value: LegalKind; description: string }>,
})

const LegalDocumentRef = builder.objectRef<LegalText>('LegalDocument').implement({
  description: 'A legal page of this server. Public.',
  fields: (t) => ({
    kind: t.expose('kind', { type: LegalDocumentKind, description: 'Which legal page.' }),
    markdown: t.exposeString('markdown', { description: 'The text, in Markdown.' }),
    html: t.string({
      description: 'The text as sanitized HTML: no scripts, no styles, and ids that start with `doc-`.',
      resolve: ({ markdown }, _args, context) => renderLegal(context, markdown),
    }),
    isCustom: t.exposeBoolean('isCustom', { description: 'Whether the owner has replaced the built-in text.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the owner last changed it; null for the built-in text.',
    }),
    defaultMarkdown: t.string({ description: 'The built-in text, for comparison.', resolve: ({ kind }) => defaultMarkdown(kind) }),
    viewerCanUpdate: t.boolean({
      description: 'Whether you may change the page. Only the owner of the server may.',
      resolve: (_document, _args, context) => isServerOwner(context),
    }),
  }),
})

builder.queryField('legalDocument', (t) =>
  t.field({
    type: LegalDocumentRef,
    description: 'A legal page. Public, even before the server is set up.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    args: { kind: t.arg({ type: LegalDocumentKind, required: true, description: 'Which legal page.' }) },
    resolve: (_root, { kind }, context) => readLegalDocument(context, kind),
  }),
)

builder.queryField('legalPreview', (t) =>
  t.withAuth({ owner: true }).string({
    description: 'Renders a text as on a legal page, as sanitized HTML.',
    args: { markdown: t.arg.string({ required: true, description: 'The text, at most 256 KiB.', ...legalText }) },
    resolve: (_root, { markdown }, context) => renderLegal(context, markdown, { persist: false }),
  }),
)

const LegalDocumentPayload = payload('LegalDocumentPayload', 'The changed legal page.', {
  document: { type: LegalDocumentRef, description: 'The page.' },
})

builder.mutationField('updateLegalDocument', (t) =>
  t.withAuth({ owner: true }).fieldWithInput({
    type: LegalDocumentPayload,
    description: 'Replaces the text of a legal page; for the owner of the server.',
    typeOptions: { description: 'A new text for a legal page.' },
    argOptions: { description: 'Page and text.' },
    input: {
      kind: t.input.field({ type: LegalDocumentKind, required: true, description: 'Which page.' }),
      markdown: t.input.string({
        required: true,
        description: 'The text in Markdown, at most 256 KiB of UTF-8. An empty text restores the built-in one.',
        ...legalText,
      }),
    },
    resolve: async (_root, { input }, context) => ({ document: await updateLegalDocument(context, input.kind, input.markdown) }),
  }),
)

builder.mutationField('resetLegalDocument', (t) =>
  t.withAuth({ owner: true }).fieldWithInput({
    type: LegalDocumentPayload,
    description: 'Restores the built-in text of a legal page; for the owner of the server.',
    typeOptions: { description: 'The legal page to reset.' },
    argOptions: { description: 'Which page.' },
    input: { kind: t.input.field({ type: LegalDocumentKind, required: true, description: 'Which page.' }) },
    resolve: async (_root, { input }, context) => ({ document: await resetLegalDocument(context, input.kind) }),
  }),
)
