import type { Database } from '../db/orm.ts'

/** Where searches read. */
export type Source = Pick<Database, 'reads' | 'backend'>
