import type { DocCoverage } from '../dart/doc-coverage.ts'
import { code, type Finding, firstOf, grantPoints, type Subject } from './judge.ts'

/** Rates the share of documented API elements and the presence of an example. Source: pana's rules. */
export function judgeDocumentation({ contents }: Subject, coverage: DocCoverage | null): Finding[] {
  const { example, pubspec } = contents
  const shown = { id: 'example', title: 'Provide an example', maximum: 10 }
  const remedy = `Add a short program that uses the package as \`example/${pubspec.needsFlutter ? 'lib/main.dart' : 'main.dart'}\`, or describe its use in \`example/README.md\`.`
  return [
    judgeCoverage(coverage, contents.tooLarge.length + contents.notText.length > 0),
    example
      ? grantPoints(shown, shown.maximum, `${code(example.path)} is the example.`)
      : grantPoints(shown, 0, 'There is no example in `example/`.', remedy),
  ]
}

/** Minimum share of documented elements, as in pana. */
const wantedShare = 0.2

function judgeCoverage(coverage: DocCoverage | null, isUnread: boolean): Finding {
  const criterion = { id: 'api-documentation', title: 'Document at least 20% of the public API', maximum: 10 }
  if (!coverage && isUnread) return { ...criterion, reason: 'No library below `lib/` could be read.' }
  if (!coverage || coverage.total === 0) return grantPoints(criterion, criterion.maximum, 'It has no public API.')
  const { documented, total, missing } = coverage
  const share = `${documented} of ${total} elements of the public API have doc comments (${Math.floor((documented / total) * 1000) / 10}%).`
  const undocumented = missing.length > 0 ? ` Without doc comments: ${firstOf(missing.map(code))}.` : ''
  if (documented / total >= wantedShare) return grantPoints(criterion, criterion.maximum, share + undocumented)
  const remedy =
    'Put `///` comments before public libraries, classes, members and functions. The lint `public_member_api_docs` finds those without.'
  return grantPoints(criterion, 0, share + undocumented, remedy)
}
