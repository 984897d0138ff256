import { defineEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'

const CachedImageSchema = defineEntity({
  name: 'CachedImage',
  tableName: 'cached_images',
  properties: {
    /** SHA-256 of what the image was made from: a remote URL, or a file and the size of its thumbnail. */
    key: p.string().length(64).primary(),
    /** SHA-256 of the content in the image store; null if there is no image, for example because it could not be fetched. */
    sha256: p.string().length(64).nullable().index(),
    mediaType: p.string().length(32).nullable(),
    bytes: p.integer(),
    /** When the image was last fetched or made. */
    fetchedAt: p.datetime(3),
    /** When the image was last sent, accurate to half a day. */
    usedAt: p.datetime(3).index(),
  },
})

/** A remote image or a thumbnail in the image store, which is a cache: rows and content may be deleted at any time. */
export class CachedImage extends CachedImageSchema.class {}
CachedImageSchema.setClass(CachedImage)

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof CachedImageSchema> {}
}
