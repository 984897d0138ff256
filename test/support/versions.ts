import { compareParsed, known } from '../../server/platform/pub/version.ts'

/** Compares versions given as strings. @throws RangeError if a version is not canonical. */
export const compareVersions = (a: string, b: string): number => compareParsed(known(a), known(b))
