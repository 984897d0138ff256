import { route } from '../../platform/rest/route.ts'
import { legalKinds } from './entity.ts'
import { titles } from './service.ts'

const text = '{ markdown isCustom }'

/** The REST routes of the legal pages. */
export const legalRoutes = legalKinds.flatMap((page) => {
  const kind = page.toUpperCase()
  return [
    route(`GET /api/legal/${page}`, `{ legalDocument(kind: ${kind}) ${text} }`, {
      summary: `The ${titles[page]} of this server, in Markdown.`,
      answer: 'legalDocument',
      beforeSetup: true,
      anyCredential: true,
    }),
    route(
      `PUT /api/admin/legal/${page}`,
      `mutation ($input: UpdateLegalDocumentInput!) { updateLegalDocument(input: $input) { document ${text} } }`,
      {
        summary: `Replaces the ${titles[page]}; an empty text restores the built-in one. For the owner.`,
        answer: 'updateLegalDocument.document',
        fixedInput: { kind },
      },
    ),
    route(`DELETE /api/admin/legal/${page}`, `mutation { resetLegalDocument(input: { kind: ${kind} }) { document ${text} } }`, {
      summary: `Restores the built-in ${titles[page]}. For the owner.`,
      answer: 'resetLegalDocument.document',
    }),
  ]
})
