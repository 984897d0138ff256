import { z } from 'zod'

const points = z.number().int().nonnegative().max(10_000)
/** Longer texts are truncated, because their length is controlled by the package. */
const text = z.string().transform((all) => all.slice(0, 65_536))

const section = z.object({ id: z.string().max(100), title: z.string().max(500), grantedPoints: points, maxPoints: points, summary: text })
export type PanaSection = z.infer<typeof section>

const summarySchema = z.object({
  runtimeInfo: z.object({
    panaVersion: z.string().max(100),
    sdkVersion: z.string().max(100),
    flutterVersions: z.record(z.string(), z.unknown()).nullish(),
  }),
  tags: z.array(z.string().max(100)).max(1000).nullish(),
  report: z.object({ sections: z.array(section).max(50) }).nullish(),
  errorMessage: text.nullish(),
})

/** The parts of pana's JSON output that are used. Source: `Summary` in lib/src/model.dart of pana. */
export type Summary = z.infer<typeof summarySchema>

/** Parses pana's output. Returns null if it contains no report. Lines of other tools may precede the report. */
export function readSummary(printed: string): Summary | null {
  const start = printed.startsWith('{') ? 0 : printed.indexOf('\n{') + 1
  try {
    return summarySchema.safeParse(JSON.parse(printed.slice(start))).data ?? null
  } catch {
    return null
  }
}

/** pana could not analyze a version. The message is for administrators; `log` is pana's output. */
export class PanaFailed extends Error {
  override readonly name = this.constructor.name
  readonly log: string[]
  constructor(message: string, log: string[] = []) {
    super(message)
    this.log = log
  }
}

/** pana exceeded one of its limits. Retrying would fail again. */
export class PanaOverLimit extends PanaFailed {}
/** The package needs Flutter, and no Flutter SDK is installed. The built-in engine's report stays. */
export class AnalysisNeedsFlutter extends PanaFailed {}
/** No installed SDK can analyze the version. */
export class AnalysisNeedsSdk extends PanaFailed {}
