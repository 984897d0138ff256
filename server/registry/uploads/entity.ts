import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { User } from '../../accounts/users/entity.ts'
import { CiJob } from '../trusted-publishing/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** An upload of an archive: created, then received, then finished with a result message that can be returned again. */
export const Upload = defineEntity({
  name: 'Upload',
  tableName: 'uploads',
  extends: Base,
  indexes: [{ name: 'uploads_pending', properties: ['user', 'expiresAt'], where: 'message is null' }],
  properties: {
    /** The user or the job of a CI system that started the upload. */
    user: () => p.manyToOne(User).nullable().deleteRule('cascade').index(),
    ciJob: () => p.manyToOne(CiJob).nullable().deleteRule('cascade').index(),
    expiresAt: p.datetime(3).index(),
    /** Name of the staged bytes. Each attempt uses a new name, so that no attempt changes the bytes that another one is checking. */
    stagedAs: p.uuid().nullable(),
    sha256: p.string().length(64).nullable(),
    bytes: p.bigint('number').nullable(),
    crc32c: p.string().length(8).nullable(),
    /** The connection that is sending the archive, and when its claim expires without a heartbeat. */
    receivingAs: p.uuid().nullable(),
    receivingUntil: p.datetime(3).nullable(),
    /** Staging space reserved by the sending connection, in bytes. */
    reservedBytes: p.bigint('number').nullable(),
    /** The result message of the finished upload; null before. */
    message: p.string().length(500).nullable(),
  },
})
export type Upload = InferEntity<typeof Upload>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Upload> {}
}
