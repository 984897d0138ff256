import { z } from 'zod'
import type { Criterion, Report, Section } from '../report/report.ts'

const points = z.number().int().nonnegative().max(10_000)
/** Longer texts are truncated, because their length is controlled by the package. */
const text = z.string().transform((all) => all.slice(0, 65_536))

const section = z.object({ id: z.string().max(100), title: z.string().max(500), grantedPoints: points, maxPoints: points, summary: text })
type PanaSection = z.infer<typeof section>

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
    const finding = withoutUnmeasured(id, found, isPrivate, notMeasured)
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

export type Finding = {
  title: string
  granted: number
  maximum: number
  /** Tables and other content that does not describe a fault, as Markdown. */
  remarks: string
  faults: Fault[]
}

/** A fault that cost points, and how to fix the fault, if known; both as Markdown. */
export type Fault = { fault: string; remedy: string }

// Source: `_makeSummary` and `Issue.markdown` in lib/src/report/_common.dart of pana.
const heading = /^### \[.\] (\d+)\/(\d+) points: (.*)$/m
const folded = /^<details>\s*<summary>([\s\S]*?)<\/summary>([\s\S]*?)^<\/details>$/gm
const place = /^`[^`\n]+:\d+:\d+`\n\n```\n[\s\S]*?\n```$/m
/** An issue without a folded part, up to the next issue. Items that pana marks with a tick are not issues. */
const unfolded = /^\* (?!✓)([\s\S]*?)(?=^\* |^<details>|$(?![\s\S]))/gm

/** Extracts the criteria of a section. If their points do not add up, for example because of text of the package, returns one criterion. */
function findingsIn({ title, summary, grantedPoints, maxPoints }: PanaSection): Finding[] {
  const [, ...parts] = summary.split(heading)
  const findings: Finding[] = []
  for (let at = 0; at + 3 < parts.length; at += 4) {
    const [granted, maximum, name = '', body = ''] = parts.slice(at, at + 4)
    findings.push({ title: name.trim(), granted: Number(granted), maximum: Number(maximum), ...contentOf(body) })
  }
  const sum = (key: 'granted' | 'maximum') => findings.reduce((total, finding) => total + finding[key], 0)
  if (findings.length > 0 && sum('granted') === grantedPoints && sum('maximum') === maxPoints) return findings
  return [{ title, granted: Math.min(grantedPoints, maxPoints), maximum: maxPoints, remarks: summary.trim(), faults: [] }]
}

function contentOf(body: string): Pick<Finding, 'remarks' | 'faults'> {
  const faults: Fault[] = []
  const open = body.replaceAll(folded, (_all, about: string, inside: string) => {
    // A folded table is not a fault.
    if (/^\s*\|/.test(inside)) return `${about.trim()}:\n\n${inside.trim()}`
    const where = place.exec(inside)?.[0]
    faults.push({ fault: joined(about, where ?? ''), remedy: inside.replace(where ?? '', '').trim() })
    return ''
  })
  const remarks = open.replaceAll(unfolded, (_all, fault: string) => {
    faults.push({ fault: fault.trim(), remedy: '' })
    return ''
  })
  return { remarks: remarks.replaceAll(/\n{3,}/g, '\n\n').trim(), faults }
}

const joined = (...paragraphs: string[]): string => paragraphs.flatMap((paragraph) => paragraph.trim() || []).join('\n\n')

type Unmeasured = Report['notMeasured'][number]

/** A rule for replacing faults that the package is not responsible for by a note. A null `fault` stands for the whole criterion. */
type Rule = { applies: (isPrivate: boolean) => boolean; criterion: string; fault: RegExp | null; note: Unmeasured }

const rules: Rule[] = [
  {
    applies: (isPrivate) => isPrivate,
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
    applies: (isPrivate) => !isPrivate,
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
    applies: (isPrivate) => isPrivate,
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
 * Removes faults that the package is not responsible for, and adds notes to `notMeasured` instead. A criterion without remaining faults gets all
 * points. Returns null for a criterion that does not apply at all.
 */
function withoutUnmeasured(id: string, finding: Finding, isPrivate: boolean, notMeasured: Unmeasured[]): Finding | null {
  let left = finding
  for (const { applies, criterion, fault, note } of rules) {
    if (criterion !== id || !applies(isPrivate)) continue
    const faults = left.faults.filter((one) => !fault?.test(`${one.fault}\n${one.remedy}`))
    if (fault !== null && faults.length === left.faults.length) continue
    notMeasured.push(note)
    if (fault === null) return null
    left = { ...left, faults, granted: faults.length === 0 ? left.maximum : left.granted }
  }
  return left
}
