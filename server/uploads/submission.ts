import type { InspectedPackage } from '../archive/inspect.ts'
import type { StoredBytes } from '../blobs/store.ts'

/** A checked archive whose bytes are stored, or about to be. */
export type Submission = InspectedPackage & { archive: StoredBytes }
