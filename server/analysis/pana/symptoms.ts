import { AnalysisNeedsFlutter, PanaFailed } from './problems.ts'
import type { Summary } from './summary.ts'

/** Network errors in the pub client's output. Source: lib/src/http.dart and lib/src/exceptions.dart of pub. */
const unreachable =
  /^.*(?:Got socket error|Failed host lookup|Got TLS error|Could not resolve URL|Connection (?:refused|timed out|closed before)).*$/m

/** The version solver's message for a Flutter package when the SDK lacks Flutter. */
const needsFlutter = /(?:requires the Flutter SDK|depends on [\w ]+ from sdk which doesn't exist \(the Flutter SDK is not available\))/

/**
 * Returns an error if the report blames the package for a problem of the environment, or null. When dependencies cannot be fetched, pana's report
 * grants the package no points.
 */
export function environmentFault({ report, errorMessage }: Summary, log: string[]): PanaFailed | null {
  if (!report) return new PanaFailed(errorMessage ?? 'pana returned a report without sections.', log)
  const analysis = report.sections.find(({ id }) => id === 'analysis')
  if (!analysis || analysis.grantedPoints > 0) return null
  if (needsFlutter.test(analysis.summary))
    return new AnalysisNeedsFlutter('A dependency of the package needs Flutter. Install a Flutter SDK to analyze it with pana.', log)
  const message = unreachable.exec(analysis.summary)?.[0]
  if (message === undefined) return null
  return new PanaFailed(
    `The package's dependencies could not be fetched: ${message.trim()} Check that the server can reach its own URL and pub.dev.`,
    log,
  )
}
