/** pana could not judge a version. The message says why, for the people who administer the server; `log` is what it said. */
export class PanaFailed extends Error {
  override readonly name: string = 'PanaFailed'
  readonly log: string[]
  constructor(message: string, log: string[] = []) {
    super(message)
    this.log = log
  }
}

/** pana went over one of its limits, as it would again. */
export class PanaOverLimit extends PanaFailed {
  override readonly name = 'PanaOverLimit'
}

/** The package needs Flutter, and there is no Flutter install to judge it with: what the built-in engine found stays. */
export class AnalysisNeedsFlutter extends PanaFailed {
  override readonly name = 'AnalysisNeedsFlutter'
}

/** There is no SDK install that could judge a version. */
export class AnalysisNeedsSdk extends PanaFailed {
  override readonly name = 'AnalysisNeedsSdk'
}
