import { AnalysisNeedsFlutter, PanaFailed } from './problems.ts'
import type { Summary } from './summary.ts'

/** What the pub client says of a network that does not work. Source: lib/src/http.dart and lib/src/exceptions.dart of pub. */
const unreachable =
  /^.*(?:Got socket error|Failed host lookup|Got TLS error|Could not resolve URL|Connection (?:refused|timed out|closed before)).*$/m

/** The solver's words for a package of Flutter's, on an SDK without it. */
const needsFlutter = /(?:requires the Flutter SDK|depends on [\w ]+ from sdk which doesn't exist \(the Flutter SDK is not available\))/

/**
 * Why a report would blame the package for what it cannot help, or null: pana reports on a package whose dependencies it could not get as if
 * there were nothing good about it.
 */
export function faultOfReport({ report, errorMessage }: Summary, log: string[]): PanaFailed | null {
  if (!report) return new PanaFailed(errorMessage ?? 'pana gave a report without sections.', log)
  const analysis = report.sections.find(({ id }) => id === 'analysis')
  if (!analysis || analysis.grantedPoints > 0) return null
  if (needsFlutter.test(analysis.summary))
    return new AnalysisNeedsFlutter('A dependency of the package needs Flutter. Install a Flutter SDK to judge it with pana.', log)
  const said = unreachable.exec(analysis.summary)?.[0]
  if (said === undefined) return null
  return new PanaFailed(
    `The package's dependencies could not be fetched: ${said.trim()} Check that the server reaches its own address and pub.dev.`,
    log,
  )
}
