import { conflict } from '../../../errors.ts'

/** Builds the error for a backup file whose checksum does not match. */
export const damaged = (path: string) => conflict(`The backup is damaged: ${path} is missing or corrupt. Use another backup.`)
