import { defineEntity, p } from '@mikro-orm/core'

const RenderedTextSchema = defineEntity({
  name: 'RenderedText',
  tableName: 'rendered_texts',
  properties: {
    /** SHA-256 over the text, how its links resolve, and the version of the renderer. */
    hash: p.string().length(64).primary(),
    /** Null for a text that took too long. */
    html: p.text().nullable(),
    bytes: p.integer(),
    createdAt: p.datetime(3).index(),
  },
})

/** What a text looks like as HTML: whoever asks next, at any instance and after any restart, gets it without rendering. */
export class RenderedText extends RenderedTextSchema.class {}
RenderedTextSchema.setClass(RenderedText)
