import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'

export const legalKinds = ['privacy', 'terms'] as const
export type LegalKind = (typeof legalKinds)[number]

/** A legal page whose built-in text was replaced by the owner. */
export const LegalDocument = defineEntity({
  name: 'LegalDocument',
  tableName: 'legal_documents',
  properties: {
    kind: p.string().length(16).$type<LegalKind>().primary(),
    markdown: p.text(),
    updatedAt: p.datetime(3),
  },
})
export type LegalDocument = InferEntity<typeof LegalDocument>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof LegalDocument> {}
}
