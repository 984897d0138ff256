import type { Pubspec } from '../archive/pubspec.ts'
import { allows, type Constraint, parseConstraint } from '../pub/constraint.ts'
import { compareParsed, known, readVersion, type Version } from '../pub/version.ts'
import { allOrNothing, code, type Fault, type Finding, type Subject } from './judge.ts'

/** Whether the current stable SDKs are supported. Source: pana's rules. */
export function judgeSdks({ contents, facts }: Subject): Finding {
  const { dart, flutter } = facts.sdks
  const { pubspec } = contents
  const judged = `${dart ?? `${lastKnownDart} and later`}${pubspec.needsFlutter && flutter ? `, Flutter ${flutter}` : ''}`
  const criterion = { id: 'sdk', title: 'Support the latest stable Dart and Flutter SDKs', maximum: 10 }
  return allOrNothing(
    criterion,
    [...dartFaults(pubspec, dart), ...(pubspec.needsFlutter && flutter ? flutterFaults(pubspec, flutter) : [])],
    `Its constraints admit Dart ${judged}.`,
  )
}

/** Where nobody has looked up the latest one, a package must not end before this one. */
const lastKnownDart = '3.11.0'

function dartFaults(pubspec: Pubspec, latest: string | null): Fault[] {
  const stated = constraintOn(pubspec, 'sdk')
  const text = code(textOf(pubspec, 'sdk') ?? '')
  if (!stated) return [{ fault: 'There is no constraint on the Dart SDK.', remedy: 'Add `environment: {sdk: ^3.0.0}` to `pubspec.yaml`.' }]
  if (!isNullSafe(stated))
    return [
      {
        fault: `It is not null-safe: ${text} begins before Dart 2.12.`,
        remedy: 'Migrate it to null safety, and raise the lower bound to `^3.0.0`.',
      },
    ]
  const effective = throughDart3(stated)
  const isSupported = latest === null ? reaches(effective, lastKnownDart) : allows(effective, latest)
  if (isSupported) return []
  return [
    {
      fault: `${text} does not admit Dart ${latest ?? lastKnownDart}.`,
      remedy: 'Widen the constraint on the Dart SDK, such as to `^3.0.0`.',
    },
  ]
}

/** Upper bounds on Flutter do not count: pub leaves them out of account. */
function flutterFaults(pubspec: Pubspec, latest: string): Fault[] {
  const stated = constraintOn(pubspec, 'flutter')
  if (!stated || allows({ ...stated, max: null }, latest)) return []
  const fault = `${code(textOf(pubspec, 'flutter') ?? '')} does not admit Flutter ${latest}.`
  return [{ fault, remedy: 'Lower the constraint on Flutter to a stable release.' }]
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

/** The constraint on an SDK: `sdk` is Dart. Null without one. */
export function constraintOn(pubspec: Pubspec, sdk: 'sdk' | 'flutter'): Constraint | null {
  const text = textOf(pubspec, sdk)
  return text === null ? null : parseConstraint(text)
}

const textOf = ({ environment }: Pubspec, sdk: string) => environment.find((each) => each.sdk === sdk)?.constraint ?? null
const reaches = ({ max }: Constraint, version: string) => max === null || compareParsed(max.version, known(version)) > 0
const releaseOf = ({ release }: Version): Version => readVersion(release.join('.')) ?? known('0.0.0')
