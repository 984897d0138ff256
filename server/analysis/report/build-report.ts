import { amountOf } from '../dart/changes.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { isFsfLibre, isOsiApproved, licensesOf } from '../../registry/archive/license.ts'
import { isObject } from '../../registry/archive/yaml.ts'
import { allows, parseConstraint } from '../../platform/pub/constraint.ts'
import { docCoverageOf, judgeApiDocumentation } from './api-criteria.ts'
import { constraintOn, isNullSafe, judgeDependencies, judgeSdk, throughDart3 } from './dependency-criteria.ts'
import { judgeDocuments, judgeExample, judgeReadme } from './document-criteria.ts'
import { code, type Finding, firstOf, type Subject } from './judge.ts'
import { type NativeBuilds, nativeBuildsOf, platformNotes, supportOf } from './platforms.ts'
import { judgePubspec } from './pubspec-criteria.ts'
import { type Report, type Section, sumOf } from './report.ts'
import { findLeftovers, type PackageContents, sizesOf } from './unpack.ts'

/** Increase when the same package may get a different report than before. */
const engineVersion = '4'

/** Maximum number of unknown packages in a report. */
const maxUnknownPackages = 200

/** Builds the report of a package. `changes` are notes about API changes. The same package and facts always give the same report. */
export function buildReport(subject: Subject, changes: readonly string[] = []): Report {
  const coverage = subject.api.libraries.length === 0 ? null : docCoverageOf(subject.api)
  const support = supportOf(subject)
  const builds = nativeBuildsOf(subject.contents)
  const findings: [id: string, title: string, findings: Finding[]][] = [
    ['convention', 'Follow Dart file conventions', [...judgePubspec(subject), ...judgeDocuments(subject)]],
    ['documentation', 'Provide documentation', [...judgeReadme(subject), judgeApiDocumentation(subject, coverage), judgeExample(subject)]],
    ['analysis', 'Pass static analysis', unanalyzed],
    ['dependency', 'Support up-to-date dependencies', [...judgeDependencies(subject), judgeSdk(subject)]],
  ]
  return {
    engine: { name: 'built-in', version: engineVersion },
    sections: findings.map(([id, title, found]) => sectionOf(id, title, found)),
    notMeasured: findings.flatMap(([, , found]) => found.flatMap((finding) => ('granted' in finding ? [] : [finding]))),
    tags: [...support.tags, ...tagsOf(subject.contents, builds)],
    notes: [...changes, ...notesOn(subject), ...platformNotes(subject, support, builds)],
    documented: coverage && { documented: coverage.documented, total: coverage.total },
    sizes: sizesOf(subject.contents.files),
    ...(isIncomplete(subject) && { isIncomplete: true }),
    unknownPackages: support.unknownPackages.filter(isUpstreamName).slice(0, maxUnknownPackages),
  }
}

/** Whether parts of the public API are missing, because files exceed a limit of the analysis or have syntax that it does not know. */
export const isIncomplete = ({ contents, api }: Subject): boolean => contents.tooLarge.length + api.unread.length + api.unclear.length > 0

const withoutSdk = 'The built-in engine has no Dart SDK to analyze code with.'
const unanalyzed: Finding[] = [
  { id: 'static-analysis', title: 'Code has no errors, warnings or lints', reason: withoutSdk },
  { id: 'formatting', title: 'Code is formatted', reason: 'The built-in engine has no Dart SDK to format code with.' },
]

function sectionOf(id: string, title: string, findings: readonly Finding[]): Section {
  const criteria = findings.filter((finding) => 'granted' in finding)
  const { granted, maximum } = sumOf(criteria)
  return { id, title, granted, maximum, status: statusOf(granted, maximum), criteria }
}

function statusOf(granted: number, maximum: number): Section['status'] {
  if (maximum === 0) return 'not_measured'
  if (granted === maximum) return 'passed'
  return granted === 0 ? 'failed' : 'partial'
}

/** Returns notes in Markdown that do not affect the points. */
function notesOn({ contents, api }: Subject): string[] {
  const notes = findLeftovers(contents.files).map(
    ({ folder, bytes }) =>
      `The archive has ${code(folder)} (${Math.ceil(bytes / 1024)} KB), which users do not need. Add it to \`.pubignore\`.`,
  )
  if (contents.tooLarge.length > 0) notes.push(`Too large to be read: ${firstOf(contents.tooLarge.map(code))}. Their API is missing here.`)
  if (contents.notText.length > 0) notes.push(`Not text: ${firstOf(contents.notText.map(code))}. Their API is missing here.`)
  if (api.unread.length > 0) notes.push(`Too complex to be read: ${firstOf(api.unread.map(code))}. Some of their API is missing here.`)
  const unclear = firstOf(api.unclear.map(code))
  if (api.unclear.length > 0) notes.push(`Some code in ${amountOf(api.unclear.length, 'file')} could not be parsed: ${unclear}.`)
  return notes
}

/** Returns the tags that depend only on the metadata and files of a package, in pana's format. */
function tagsOf({ pubspec, document, license }: PackageContents, builds: NativeBuilds): string[] {
  const dart = constraintOn(pubspec)
  const licenses = licensesOf(license?.text ?? null)
  const flags = {
    'is:plugin': pubspec.pluginPlatforms !== null,
    'is:null-safe': dart !== null && isNullSafe(dart),
    'is:dart3-compatible': dart !== null && isNullSafe(dart) && admitsDart3(dart),
    'is:swiftpm-plugin': builds.withoutSwiftPackage?.length === 0,
    'is:darwin-legacy-native-build': (builds.withoutSwiftPackage ?? []).length > 0,
    'is:built-in-kotlin': builds.usesBuiltInKotlin === true,
    'has:executable': pubspec.executables.length > 0,
    'has:screenshot': Array.isArray(document.screenshots) && document.screenshots.some(isObject),
    'license:osi-approved': licenses.length > 0 && licenses.every(isOsiApproved),
    'license:fsf-libre': licenses.length > 0 && licenses.every(isFsfLibre),
  }
  return [
    ...(licenses.length > 0 ? licenses : ['unknown']).map((id) => `license:${id.toLowerCase()}`),
    ...pubspec.topics.map((topic) => `topic:${topic}`),
    ...Object.entries(flags).flatMap(([tag, holds]) => (holds ? [tag] : [])),
  ]
}

function admitsDart3(constraint: ReturnType<typeof constraintOn>): boolean {
  const { min, max } = constraint ? throughDart3(constraint) : { min: null, max: null }
  const dart3 = parseConstraint('^3.0.0')
  if (!dart3?.min) return false
  const lowest = min?.version.release[0] === 3n ? min.version.text : dart3.min.version.text
  return allows({ min, max }, lowest)
}
