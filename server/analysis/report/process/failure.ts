/** An analysis that failed. The message is shown to package authors and server administrators. */
export class AnalysisFailed extends Error {
  /** Whether a retry may succeed, because the package did not cause the failure. */
  readonly isTransient: boolean

  constructor(message: string, { isTransient = false, cause }: Details = {}) {
    super(message, { cause })
    this.name = 'AnalysisFailed'
    this.isTransient = isTransient
  }
}

type Details = { isTransient?: boolean; cause?: unknown }
