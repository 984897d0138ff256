import { conflict } from '../../errors.ts'
import { holdSetting } from '../../store/hold.ts'
import { ownerSetting } from '../owner.ts'
import type { SnapshotFiles } from '../place/place.ts'

/** A database that a backup is restored into. */
export type Target = {
  /**
   * The id of the store that it belongs to when it has accounts or packages; null when it is empty.
   * @throws ApiError Conflict when it has tables, and they are not those of the backup.
   */
  occupiedBy: () => Promise<string | null>
  /** Brings the rows in, verified, all at once: until then nothing of them is there. `prepared` runs right before. */
  fill: (files: SnapshotFiles, prepared: () => Promise<void>) => Promise<void>
  /** Brings the schema from the backup's to this version's. */
  upgrade: () => Promise<void>
  close: () => Promise<void>
}

/** Settings of the server that was backed up, and not of the one that is restored: the hold of the backup itself, and whose its backups are. */
export const settingsLeftOut: readonly string[] = [holdSetting.key, ownerSetting.key]

/** Nobody's data is overwritten. */
export const occupied = () =>
  conflict('The database has accounts or packages. A backup is restored into an empty database only: name another one.')
