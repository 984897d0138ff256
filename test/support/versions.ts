import { compareParsed, known } from '../../server/pub/version.ts'

/** The order of versions as texts. Throws a RangeError for what is no canonical version. */
export const compareVersions = (a: string, b: string): number => compareParsed(known(a), known(b))
