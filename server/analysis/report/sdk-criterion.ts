import type { Pubspec } from '../../registry/archive/pubspec.ts'
import { type Constraint, parseConstraint } from '../../platform/pub/constraint.ts'
import { compareParsed, known, parseVersion, readVersion, type Version } from '../../platform/pub/version.ts'
import { allOrNothing, code, type Fault, type Finding, type Subject } from './judge.ts'

/** Rates whether the current stable Dart SDK is supported. Source: pana's rules. */
export function judgeSdk({ contents, facts }: Subject): Finding {
  const latest = latestOf(facts.dart)
  const criterion = { id: 'sdk', title: 'Support the latest stable Dart SDK', maximum: 10 }
  return allOrNothing(criterion, sdkFaults(contents.pubspec, latest), `It can be used with Dart ${latest} or later.`)
}

/** Newest stable Dart release known to this version of the engine. The server may know a newer one. */
const lastKnownDart = '3.11.0'

function latestOf(dart: string | null): string {
  const given = dart === null ? null : parseVersion(dart)
  return given && compareParsed(given, known(lastKnownDart)) > 0 ? given.text : lastKnownDart
}

/**
 * Only the upper bound is compared with the latest known release. A lower bound beyond that release is not a fault, since newer releases may exist.
 */
function sdkFaults(pubspec: Pubspec, latest: string): Fault[] {
  const stated = constraintOn(pubspec)
  const text = code(textOf(pubspec) ?? '')
  if (!stated) return [{ fault: 'There is no constraint on the Dart SDK.', remedy: 'Add `environment: {sdk: ^3.0.0}` to `pubspec.yaml`.' }]
  if (!isNullSafe(stated)) {
    const remedy = 'Migrate it to null safety, and raise the lower bound to `^3.0.0`.'
    return [{ fault: `It is not null-safe: ${text} begins before Dart 2.12.`, remedy }]
  }
  if (reaches(throughDart3(stated), latest)) return []
  return [{ fault: `${text} does not allow Dart ${latest}.`, remedy: 'Widen the constraint on the Dart SDK, such as to `^3.0.0`.' }]
}

/** Whether the sources are null-safe. The lower bound of the Dart constraint determines the language version. */
export function isNullSafe({ min }: Constraint): boolean {
  return min !== null && compareParsed(releaseOf(min.version), known('2.12.0')) >= 0
}

/** Widens an upper bound of `<3.0.0` to `<4.0.0` for null-safe packages, as pub does. */
export function throughDart3(constraint: Constraint): Constraint {
  const dart4 = parseConstraint('<4.0.0')?.max ?? null
  const endsAt3 = constraint.max?.version.text === '3.0.0-0' && !constraint.max.included
  return isNullSafe(constraint) && endsAt3 ? { ...constraint, max: dart4 } : constraint
}

/** Returns the Dart SDK constraint, or null if it is missing or invalid. */
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
