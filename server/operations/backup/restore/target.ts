import { conflict } from '../../../errors.ts'
import { holdSetting } from '../../../platform/store/hold.ts'
import { ownerSetting } from '../owner.ts'
import type { SnapshotFiles } from '../place/place.ts'

/** A database that a backup is restored into. */
export type Target = {
  /**
   * Returns the store id of a database that has accounts or packages; null when it is empty.
   * @throws ApiError Conflict when it has tables that do not match the schema of the backup.
   */
  occupiedBy: () => Promise<string | null>
  /** Restores and verifies all rows atomically. `prepared` runs right before, and nothing is visible until the end. */
  fill: (files: SnapshotFiles, prepared: () => Promise<void>) => Promise<void>
  /** Migrates the schema from the version of the backup to the current version. */
  upgrade: () => Promise<void>
  close: () => Promise<void>
}

/** Settings that are not restored because they belong to the server that was backed up: its removal hold and its id as the owner of backups. */
export const settingsLeftOut: readonly string[] = [holdSetting.key, ownerSetting.key]

/** Builds the error for a target database that is in use. A restore never overwrites data. */
export const occupied = () =>
  conflict('The database already contains accounts or packages. A backup can only be restored into an empty database. Use another one.')
