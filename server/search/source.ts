import type { Database } from '../db/open/orm.ts'

/** Where searches read: who somebody is and what they administer by `reads`, what fits by `heavyReads`. */
export type Source = Pick<Database, 'reads' | 'heavyReads' | 'backend'>
