import { docCoverageOf } from '../dart/doc-coverage.ts'
import { isPackageName } from '../../platform/pub/package-name.ts'
import { judgeDocumentation } from './api-criteria.ts'
import { judgeDependencies } from './dependency-criteria.ts'
import { judgeDocuments } from './document-criteria.ts'
import type { Finding, Subject } from './judge.ts'
import { nativeBuildsOf } from './native-builds.ts'
import { notesOn } from './notes.ts'
import { judgePlatforms, supportOf } from './platform-criterion.ts'
import { judgePubspec } from './pubspec-criteria.ts'
import type { Report, Section } from './report.ts'
import { judgeSdk } from './sdk-criterion.ts'
import { sizesOf } from './sizes.ts'
import { tagsOf } from './tags.ts'

/** Increase when the same package may get a different report than before. */
const engineVersion = '2'

/** Maximum number of unknown packages in a report. */
const maxUnknownPackages = 200

/**
 * Builds the report of a package. `changes` are notes about API changes since an earlier version. Deterministic: the same package and facts always
 * give the same report.
 */
export function buildReport(subject: Subject, changes: readonly string[] = []): Report {
  const coverage = subject.api.libraries.length === 0 ? null : docCoverageOf(subject.api)
  const support = supportOf(subject)
  const builds = nativeBuildsOf(subject.contents)
  const findings: [id: string, title: string, findings: Finding[]][] = [
    ['convention', 'Follow Dart file conventions', [...judgePubspec(subject), ...judgeDocuments(subject)]],
    ['documentation', 'Provide documentation', judgeDocumentation(subject, coverage)],
    ['platform', 'Platform support', [judgePlatforms(subject, support, builds)]],
    ['analysis', 'Pass static analysis', unanalyzed],
    ['dependency', 'Support up-to-date dependencies', [...judgeDependencies(subject), judgeSdk(subject)]],
  ]
  return {
    engine: { name: 'built-in', version: engineVersion },
    sections: findings.map(([id, title, found]) => sectionOf(id, title, found)),
    notMeasured: findings.flatMap(([, , found]) => found.flatMap((finding) => ('granted' in finding ? [] : [finding]))),
    tags: [...support.tags, ...tagsOf(subject.contents, builds)],
    notes: [...changes, ...notesOn(subject)],
    documented: coverage && { documented: coverage.documented, total: coverage.total },
    sizes: sizesOf(subject.contents.files),
    unknownPackages: support.unknownPackages.filter(isPackageName).slice(0, maxUnknownPackages),
  }
}

const unanalyzed: Finding[] = [
  {
    id: 'static-analysis',
    title: 'Code has no errors, warnings or lints',
    reason: 'The built-in engine has no Dart SDK to analyze code with.',
  },
  { id: 'formatting', title: 'Code is formatted', reason: 'The built-in engine has no Dart SDK to format code with.' },
]

function sectionOf(id: string, title: string, findings: readonly Finding[]): Section {
  const criteria = findings.filter((finding) => 'granted' in finding)
  const [granted, maximum] = [sum(criteria.map((each) => each.granted)), sum(criteria.map((each) => each.maximum))]
  return { id, title, granted, maximum, status: statusOf(granted, maximum), criteria }
}

function statusOf(granted: number, maximum: number): Section['status'] {
  if (maximum === 0) return 'not_measured'
  if (granted === maximum) return 'passed'
  return granted === 0 ? 'failed' : 'partial'
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)
