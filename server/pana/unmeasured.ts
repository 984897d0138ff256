import type { Report } from '../analysis/report.ts'
import type { Fault, Finding } from './findings.ts'

export type Unmeasured = Report['notMeasured'][number]

/** What keeps pana from measuring something here. */
type Conditions = {
  /** Only members read the package. */
  isPrivate: boolean
}

/** A rule says which faults are none of the package's, and what is told instead. */
type Rule = { applies: (conditions: Conditions) => boolean; criterion: string; fault: RegExp | null; says: Unmeasured }

const rules: Rule[] = [
  {
    applies: ({ isPrivate }) => isPrivate,
    criterion: 'pubspec',
    fault:
      /^Failed to verify repository URL|\bURL (?:isn't valid|doesn't exist|is insecure)\.|doesn't have a `(?:homepage|repository)` entry|`(?:homepage|repository|issue_tracker|documentation)` entry, if present/,
    says: {
      id: 'urls',
      title: 'URLs in the pubspec are public and secure',
      reason: 'The package is private: its URLs need not be public.',
    },
  },
  {
    applies: ({ isPrivate }) => !isPrivate,
    criterion: 'pubspec',
    // pana grants the points all the same; a closed network shows none of them.
    fault: /\bURL doesn't exist\.|^Failed to verify repository URL\.[\s\S]*(?:Unable to access git repository|not reachable)/,
    says: {
      id: 'url-reachability',
      title: 'URLs of the pubspec can be reached, and the repository has this package',
      reason: 'They could not be reached from this server.',
    },
  },
  {
    applies: ({ isPrivate }) => isPrivate,
    criterion: 'license',
    fault: null,
    says: { id: 'license', title: 'Use an OSI-approved license', reason: 'The package is private: it needs no open-source license.' },
  },
  {
    applies: () => true,
    criterion: 'example',
    fault: /\b(?:cwebp|dwebp|gif2webp|webpmux|webpinfo)\b/,
    says: { id: 'screenshots', title: 'Screenshots are valid', reason: 'The programs that read them are not installed on this server.' },
  },
]

/**
 * Takes away what a package cannot help: a criterion that is left without faults has all its points, one that is not judged at all is null.
 */
export function measured(id: string, finding: Finding, conditions: Conditions): { finding: Finding | null; unmeasured: Unmeasured[] } {
  const unmeasured: Unmeasured[] = []
  let left: Finding | null = finding
  for (const { applies, criterion, fault, says } of rules) {
    if (criterion !== id || left === null || !applies(conditions)) continue
    if (fault === null) {
      unmeasured.push(says)
      left = null
      continue
    }
    const faults: Fault[] = left.faults.filter((one) => !fault.test(`${one.fault}\n${one.remedy}`))
    if (faults.length === left.faults.length) continue
    unmeasured.push(says)
    left = { ...left, faults, granted: faults.length === 0 ? left.maximum : left.granted }
  }
  return { finding: left, unmeasured }
}
