/** pana could not analyze a version. The message is for administrators; `log` is pana's output. */
export class PanaFailed extends Error {
  override readonly name: string = 'PanaFailed'
  readonly log: string[]
  constructor(message: string, log: string[] = []) {
    super(message)
    this.log = log
  }
}

/** pana exceeded one of its limits. Retrying would fail again. */
export class PanaOverLimit extends PanaFailed {
  override readonly name = 'PanaOverLimit'
}

/** The package needs Flutter, and no Flutter SDK is installed. The built-in engine's report stays. */
export class AnalysisNeedsFlutter extends PanaFailed {
  override readonly name = 'AnalysisNeedsFlutter'
}

/** No installed SDK can analyze the version. */
export class AnalysisNeedsSdk extends PanaFailed {
  override readonly name = 'AnalysisNeedsSdk'
}
