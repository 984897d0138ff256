import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../../accounts/users/entity.ts'
import { Base } from '../../../platform/db/base.ts'
import { Publisher } from '../../publishers/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** The pubspec.lock of an application, saved by name. Deleted along with its owner, which is either a user or a publisher. */
export const SavedApp = defineEntity({
  name: 'SavedApp',
  tableName: 'saved_apps',
  extends: Base,
  uniques: [{ properties: ['user', 'name'] }, { properties: ['publisher', 'name'] }],
  properties: {
    user: () => p.manyToOne(User).nullable().deleteRule('cascade'),
    publisher: () => p.manyToOne(Publisher).nullable().deleteRule('cascade'),
    name: p.string().length(100).ignoreSchemaChanges('collation'),
    lock: p.text().lazy(),
    /** When the current content was saved, and who did it. */
    savedAt: p.datetime(3),
    savedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
  },
})
export type SavedApp = InferEntity<typeof SavedApp>

declare module '../../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof SavedApp> {}
}
