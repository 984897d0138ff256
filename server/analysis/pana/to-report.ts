import type { Criterion, Report, Section } from '../report/report.ts'
import { type Finding, findingsIn, joined } from './findings.ts'
import type { PanaSection, Summary } from './summary.ts'
import { withoutUnmeasured, type Unmeasured } from './unmeasured.ts'

/** Converts pana's output to a report. pana knows neither `sizes` nor whether the package is private. */
export function toReport(
  { runtimeInfo, report, tags }: Summary,
  { isPrivate, sizes }: { isPrivate: boolean; sizes: Report['sizes'] },
): Report {
  const notMeasured: Unmeasured[] = []
  const sections = (report?.sections ?? []).map((section) => toSection(section, isPrivate, notMeasured))
  return {
    engine: { name: 'pana', version: versionOf(runtimeInfo) },
    sections,
    notMeasured,
    tags: (tags ?? []).filter((tag) => /^[a-z0-9-]+:[a-z0-9_.+-]+$/i.test(tag)),
    notes: [],
    documented: documentedIn(report?.sections ?? []),
    sizes,
  }
}

function versionOf({ panaVersion, sdkVersion, flutterVersions }: Summary['runtimeInfo']): string {
  const flutter = flutterVersions?.frameworkVersion ?? flutterVersions?.flutterVersion
  return [panaVersion, `Dart ${sdkVersion}`, ...(typeof flutter === 'string' ? [`Flutter ${flutter.trim()}`] : [])].join(', ')
}

function toSection(section: PanaSection, isPrivate: boolean, notMeasured: Unmeasured[]): Section {
  const criteria = findingsIn(section).flatMap((found, index) => {
    const id = idOf(section.id, found.title, index)
    const { finding, unmeasured } = withoutUnmeasured(id, found, { isPrivate })
    notMeasured.push(...unmeasured)
    return finding === null ? [] : [toCriterion(id, finding)]
  })
  const granted = criteria.reduce((sum, criterion) => sum + criterion.granted, 0)
  const maximum = criteria.reduce((sum, criterion) => sum + criterion.maximum, 0)
  const status = maximum === 0 ? 'not_measured' : granted === maximum ? 'passed' : granted > 0 ? 'partial' : 'failed'
  return { id: section.id, title: section.title, granted, maximum, status, criteria }
}

function toCriterion(id: string, { title, granted, maximum, remarks, faults }: Finding): Criterion {
  const points = Math.min(granted, maximum)
  const listed = faults.length > 1 ? faults.map(({ fault }) => `* ${fault.replaceAll('\n', '\n  ')}`) : faults.map(({ fault }) => fault)
  const remedies = [...new Set(faults.map(({ remedy }) => remedy))]
  return {
    id,
    title,
    granted: points,
    maximum,
    reason: cut(joined(listed.join('\n'), remarks)) || 'Nothing is missing.',
    remedy: points < maximum ? cut(joined(...remedies)) || null : null,
  }
}

const cut = (text: string) => (text.length > 8000 ? `${text.slice(0, 8000)} …` : text)

// pana's criteria have no ids, and their titles vary with the result.
const ids: [RegExp, string][] = [
  [/pubspec\.yaml/, 'pubspec'],
  [/README/, 'readme'],
  [/CHANGELOG/, 'changelog'],
  [/license/i, 'license'],
  [/dartdoc comments/, 'api-documentation'],
  [/example/, 'example'],
  [/latest version/, 'dependencies'],
  [/latest stable/, 'sdk'],
  [/lower bounds/, 'downgrade'],
]

function idOf(section: string, title: string, index: number): string {
  if (section === 'analysis') return 'static-analysis'
  if (section === 'platform') return 'platforms'
  return ids.find(([pattern]) => pattern.test(title))?.[1] ?? `${section}-${index + 1}`
}

function documentedIn(sections: PanaSection[]): Report['documented'] {
  const counts = sections.map(({ summary }) => /^(\d+) out of (\d+) API elements/m.exec(summary)).find((found) => found !== null)
  return counts ? { documented: Number(counts[1]), total: Number(counts[2]) } : null
}
