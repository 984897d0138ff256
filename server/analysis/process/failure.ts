/** A package that could not be analyzed. The message says why, in words for the package's authors and the server's administrators. */
export class AnalysisFailed extends Error {
  /** Whether the same analysis may succeed at another time: the package is not at fault. */
  readonly isTransient: boolean
  /** Whether the archive cannot be read at all. */
  readonly isRefusal: boolean

  constructor(message: string, { isTransient = false, isRefusal = false, cause }: Details = {}) {
    super(message, { cause })
    this.name = 'AnalysisFailed'
    this.isTransient = isTransient
    this.isRefusal = isRefusal
  }
}

type Details = { isTransient?: boolean; isRefusal?: boolean; cause?: unknown }
