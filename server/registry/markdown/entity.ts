import { defineEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'

const RenderedTextSchema = defineEntity({
  name: 'RenderedText',
  tableName: 'rendered_texts',
  properties: {
    /** SHA-256 over the text, its link settings, and the renderer version. */
    hash: p.string().length(64).primary(),
    /** Null for a text that took too long to render. */
    html: p.text().nullable(),
    bytes: p.integer(),
    createdAt: p.datetime(3).index(),
  },
})

/** The cached HTML of a text, shared by all instances and kept across restarts. */
export class RenderedText extends RenderedTextSchema.class {}
RenderedTextSchema.setClass(RenderedText)

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof RenderedTextSchema> {}
}
