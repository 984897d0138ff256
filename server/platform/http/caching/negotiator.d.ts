/** Types for negotiator 1, which includes none. The types in DefinitelyTyped describe an older version. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | string[] | undefined> })
    /** Returns the accepted encodings of `available`, best first. Equal weights are ordered as in `preferred`. */
    encodings(available: readonly string[], options: { preferred: readonly string[] }): string[]
  }
}
