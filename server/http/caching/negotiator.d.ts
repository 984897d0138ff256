/** Of negotiator 1, which comes without types; those of DefinitelyTyped are older. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | string[] | undefined> })
    /** Those of the available encodings that are accepted, best first; among equally good ones, as `preferred` has them. */
    encodings(available: readonly string[], options: { preferred: readonly string[] }): string[]
  }
}
