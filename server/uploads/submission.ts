import type { InspectedPackage } from '../archive/inspect.ts'

/** A checked archive whose bytes are stored, or about to be. */
export type Submission = InspectedPackage & { archive: { sha256: string; bytes: number; crc32c: string } }
