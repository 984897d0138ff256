import { conflict } from '../../errors.ts'

/** A file of a backup does not have the bytes that it had when it was written. */
export const damaged = (path: string) =>
  conflict(`The backup is damaged: ${path} has other bytes. Nothing can be used yet; restore another backup.`)
