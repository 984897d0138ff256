import type { InspectedPackage } from '../archive/inspect.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'

/** A validated archive whose bytes are stored or about to be stored. */
export type Submission = InspectedPackage & { archive: StoredBytes }
