import type { Report } from '../report/report.ts'
import type { Fault, Finding } from './findings.ts'

export type Unmeasured = Report['notMeasured'][number]

/** Conditions under which pana's results do not apply. */
type Conditions = {
  /** Whether only members can read the package. */
  isPrivate: boolean
}

/**
 * A rule for ignoring faults that the package is not responsible for, with the note to report instead. A null `fault` ignores the whole criterion.
 */
type Rule = { applies: (conditions: Conditions) => boolean; criterion: string; fault: RegExp | null; note: Unmeasured }

const rules: Rule[] = [
  {
    applies: ({ isPrivate }) => isPrivate,
    criterion: 'pubspec',
    fault:
      /^Failed to verify repository URL|\bURL (?:isn't valid|doesn't exist|is insecure)\.|doesn't have a `(?:homepage|repository)` entry|`(?:homepage|repository|issue_tracker|documentation)` entry, if present/,
    note: {
      id: 'urls',
      title: 'URLs in the pubspec are public and secure',
      reason: 'The package is private: its URLs need not be public.',
    },
  },
  {
    applies: ({ isPrivate }) => !isPrivate,
    criterion: 'pubspec',
    // pana grants the points anyway. On a closed network, no URL is reachable.
    fault: /\bURL doesn't exist\.|^Failed to verify repository URL\.[\s\S]*(?:Unable to access git repository|not reachable)/,
    note: {
      id: 'url-reachability',
      title: 'URLs of the pubspec can be reached, and the repository has this package',
      reason: 'The URLs could not be reached from this server.',
    },
  },
  {
    applies: ({ isPrivate }) => isPrivate,
    criterion: 'license',
    fault: null,
    note: { id: 'license', title: 'Use an OSI-approved license', reason: 'The package is private: it needs no open-source license.' },
  },
  {
    applies: () => true,
    criterion: 'example',
    fault: /\b(?:cwebp|dwebp|gif2webp|webpmux|webpinfo)\b/,
    note: { id: 'screenshots', title: 'Screenshots are valid', reason: 'The tools for checking images are not installed on this server.' },
  },
]

/**
 * Removes faults that the package is not responsible for. A criterion without remaining faults gets all points. Returns a null finding for a
 * criterion that does not apply at all.
 */
export function withoutUnmeasured(
  id: string,
  finding: Finding,
  conditions: Conditions,
): { finding: Finding | null; unmeasured: Unmeasured[] } {
  const unmeasured: Unmeasured[] = []
  let left: Finding | null = finding
  for (const { applies, criterion, fault, note } of rules) {
    if (criterion !== id || left === null || !applies(conditions)) continue
    if (fault === null) {
      unmeasured.push(note)
      left = null
      continue
    }
    const faults: Fault[] = left.faults.filter((one) => !fault.test(`${one.fault}\n${one.remedy}`))
    if (faults.length === left.faults.length) continue
    unmeasured.push(note)
    left = { ...left, faults, granted: faults.length === 0 ? left.maximum : left.granted }
  }
  return { finding: left, unmeasured }
}
