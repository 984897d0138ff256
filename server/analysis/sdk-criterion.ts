import type { Pubspec } from '../archive/pubspec.ts'
import { type Constraint, parseConstraint } from '../pub/constraint.ts'
import { compareParsed, known, parseVersion, readVersion, type Version } from '../pub/version.ts'
import { allOrNothing, code, type Fault, type Finding, type Subject } from './judge.ts'

/** Whether the current stable Dart is supported. Source: pana's rules. */
export function judgeSdk({ contents, facts }: Subject): Finding {
  const latest = latestOf(facts.dart)
  const criterion = { id: 'sdk', title: 'Support the latest stable Dart SDK', maximum: 10 }
  return allOrNothing(criterion, sdkFaults(contents.pubspec, latest), `It can be used with Dart ${latest} or later.`)
}

/** The newest stable release when this engine was made; a server may know newer ones. */
const lastKnownDart = '3.11.0'

function latestOf(dart: string | null): string {
  const given = dart === null ? null : parseVersion(dart)
  return given && compareParsed(given, known(lastKnownDart)) > 0 ? given.text : lastKnownDart
}

/** A lower bound beyond the latest release that is known is no fault: there may be newer ones. */
function sdkFaults(pubspec: Pubspec, latest: string): Fault[] {
  const stated = constraintOn(pubspec)
  const text = code(textOf(pubspec) ?? '')
  if (!stated) return [{ fault: 'There is no constraint on the Dart SDK.', remedy: 'Add `environment: {sdk: ^3.0.0}` to `pubspec.yaml`.' }]
  if (!isNullSafe(stated)) {
    const remedy = 'Migrate it to null safety, and raise the lower bound to `^3.0.0`.'
    return [{ fault: `It is not null-safe: ${text} begins before Dart 2.12.`, remedy }]
  }
  if (reaches(throughDart3(stated), latest)) return []
  return [{ fault: `${text} does not admit Dart ${latest}.`, remedy: 'Widen the constraint on the Dart SDK, such as to `^3.0.0`.' }]
}

/** Whether the sources are null-safe: the lower bound on Dart says which language they are written in. */
export function isNullSafe({ min }: Constraint): boolean {
  return min !== null && compareParsed(releaseOf(min.version), known('2.12.0')) >= 0
}

/** Whether it runs with Dart 3, in the reading of pub: `<3.0.0` of a null-safe package means `<4.0.0`. */
export function throughDart3(constraint: Constraint): Constraint {
  const dart4 = parseConstraint('<4.0.0')?.max ?? null
  const endsAt3 = constraint.max?.version.text === '3.0.0-0' && !constraint.max.included
  return isNullSafe(constraint) && endsAt3 ? { ...constraint, max: dart4 } : constraint
}

/** The constraint on the Dart SDK. Null without one. */
export function constraintOn(pubspec: Pubspec): Constraint | null {
  const text = textOf(pubspec)
  return text === null ? null : parseConstraint(text)
}

const textOf = ({ environment }: Pubspec) => environment.find(({ sdk }) => sdk === 'sdk')?.constraint ?? null

function reaches({ max }: Constraint, version: string): boolean {
  const order = max === null ? 1 : compareParsed(max.version, known(version))
  return order > 0 || (order === 0 && max?.included === true)
}

const releaseOf = ({ release }: Version): Version => readVersion(release.join('.')) ?? known('0.0.0')
