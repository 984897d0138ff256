import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'
import { User } from '../users/entity.ts'

/** An archive on its way in: announced, then received, then finished with an answer that can be given again. */
export const Upload = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  extends: Base,
  indexes: [{ name: 'uploads_pending', properties: ['user', 'expiresAt'], where: 'message is null' }],
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    expiresAt: p.datetime(3).index(),
    /** Where the bytes wait. Every try has a place of its own, so that none changes what another is checking. */
    stagedAs: p.uuid().nullable(),
    sha256: p.string().length(64).nullable(),
    bytes: p.bigint('number').nullable(),
    crc32c: p.string().length(8).nullable(),
    /** The connection that is sending the archive now, and until when it counts as alive without sending more. */
    receivingAs: p.uuid().nullable(),
    receivingUntil: p.datetime(3).nullable(),
    /** How much staging space that connection was promised. */
    reservedBytes: p.bigint('number').nullable(),
    /** What finishing it said. */
    message: p.string().length(500).nullable(),
  },
})
export type Upload = InferEntity<typeof Upload>
