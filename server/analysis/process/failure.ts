/** A package that could not be analyzed. The message says why, in words for the package's authors and the server's administrators. */
export class AnalysisFailed extends Error {
  /** Whether the same analysis may succeed at another time: the package is not at fault. */
  readonly isTransient: boolean

  constructor(message: string, { isTransient = false, cause }: Details = {}) {
    super(message, { cause })
    this.name = 'AnalysisFailed'
    this.isTransient = isTransient
  }
}

type Details = { isTransient?: boolean; cause?: unknown }
