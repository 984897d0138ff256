import { computed, type MaybeRefOrGetter, toValue } from 'vue'
import {
  type LegalDocumentKind,
  LegalDocumentDocument,
  LegalPageDocument,
  LegalPreviewDocument,
  ResetLegalDocumentDocument,
  UpdateLegalDocumentDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'

export const legalTitles = { PRIVACY: 'Privacy policy', TERMS: 'Terms of use' } satisfies Record<LegalDocumentKind, string>

/** Maximum size that the server accepts, in bytes of UTF-8. */
export const maxLegalBytes = 256 * 1024

/** Returns a published legal page. If the text starts with a heading, the heading becomes the page's title. */
export function useLegalPage(kind: MaybeRefOrGetter<LegalDocumentKind>) {
  const { data, ...state } = useQuery(LegalPageDocument, { variables: () => ({ kind: toValue(kind) }) })
  const page = computed(() => data.value && { ...data.value.legalDocument, ...withoutTitle(data.value.legalDocument.html) })
  return { ...state, page }
}

/** The heading at the start of a text, with its link. */
const firstHeading = /^\s*<div class="heading">(<h1[^>]*>.*?<\/h1>).*?<\/div>/s

function withoutTitle(html: string): { title: string | undefined; html: string } {
  const [start = '', heading = ''] = firstHeading.exec(html) ?? []
  const title = new DOMParser().parseFromString(heading, 'text/html').body.textContent?.trim()
  return { title: title || undefined, html: html.slice(start.length) }
}

/** Returns a legal page for editing. */
export function useLegalDocument(kind: MaybeRefOrGetter<LegalDocumentKind>) {
  const { data, ...state } = useQuery(LegalDocumentDocument, { variables: () => ({ kind: toValue(kind) }) })
  // After switching tabs, the data belongs to the other page until the next response.
  const legal = computed(() => (data.value?.legalDocument.kind === toValue(kind) ? data.value.legalDocument : undefined))
  return { ...state, legal }
}

/** Renders the preview of a draft. */
export function useLegalPreview(markdown: MaybeRefOrGetter<string>) {
  const { data, ...state } = useQuery(LegalPreviewDocument, { variables: () => ({ markdown: toValue(markdown) }) })
  return { ...state, html: computed(() => data.value?.legalPreview) }
}

export const useUpdateLegalDocument = () => useMutation(UpdateLegalDocumentDocument)
export const useResetLegalDocument = () => useMutation(ResetLegalDocumentDocument)
