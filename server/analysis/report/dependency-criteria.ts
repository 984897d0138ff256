import { amountOf } from '../dart/changes.ts'
import type { Dependency } from '../../registry/archive/dependencies.ts'
import { allows, type Constraint, isImpossible, parseConstraint } from '../../platform/pub/constraint.ts'
import { compareParsed, isPrerelease, known, parseVersion, readVersion, type Version } from '../../platform/pub/version.ts'
import { check, code, type Fault, type Finding, firstOf, type Subject } from './judge.ts'
import type { Criterion } from './report.ts'
import type { DependencyFacts, PackageFacts } from './task.ts'
import type { Pubspec } from '../../registry/archive/pubspec.ts'

/** Checks whether the constraints on hosted dependencies are sound and allow the latest versions in this registry. Source: pana's rules, without running pub. */
export function judgeDependencies({ contents, facts }: Subject): Finding[] {
  const hosted = contents.pubspec.dependencies.filter(({ kind, source }) => kind === 'direct' && source === 'hosted')
  return [judgeConstraints(hosted, facts), downgrade]
}

const downgrade = {
  id: 'downgrade',
  title: 'Compiles with the lowest versions of its dependencies',
  reason: 'The built-in engine has no Dart SDK to resolve and analyze the package with.',
}

/** Grace period in days for supporting a new release of a dependency. */
const graceDays = 30
const dayMs = 24 * 3_600_000

function judgeConstraints(hosted: readonly Dependency[], { dependencies, now }: PackageFacts): Criterion {
  const about = { id: 'dependencies', title: 'Support the latest versions of all dependencies' }
  if (hosted.length === 0) return check(about, [], 'It has no hosted dependencies.')
  const faults = hosted.flatMap((dependency) => {
    const facts = dependencies[dependency.name] ?? null
    return [...boundFaults(dependency, facts), ...(facts ? freshnessFaults(dependency, facts, new Date(now)) : [])]
  })
  const namesOf = (isKnown: boolean) => hosted.filter(({ name }) => !dependencies[name] !== isKnown).map(({ name }) => code(name))
  const [judged, others] = [namesOf(true), namesOf(false)]
  const current = judged.length > 0 ? ` The latest versions here of ${firstOf(judged)} are supported.` : ''
  const unknown = others.length > 0 ? ` Not in this registry, so only their constraints were checked: ${firstOf(others)}.` : ''
  return check(about, faults, `All dependency constraints have a lower bound.${current}${unknown}`)
}

function freshnessFaults({ name, constraint }: Dependency, { versions, isDiscontinued, replacedBy }: DependencyFacts, now: Date): Fault[] {
  const stated = parseConstraint(constraint)
  const admitted = stated ? versions.filter(({ version }) => allows(stated, version)) : []
  const dependency = `${code(name)} (${code(constraint)})`
  const faults: Fault[] = []
  if (isDiscontinued) {
    const remedy = replacedBy
      ? `Depend on ${code(replacedBy)} in place of ${code(name)}.`
      : `Look for a maintained package in place of ${code(name)}.`
    faults.push({ fault: `${code(name)} is discontinued.`, remedy })
  }
  if (versions.length === 0) return faults
  if (admitted.length === 0) {
    const remedy = `Correct the constraint on ${code(name)}, or publish such a version.`
    return [...faults, { fault: `No version of ${dependency} is in this registry, so the package cannot be resolved.`, remedy }]
  }
  return [...faults, ...lagOf(name, dependency, versions, admitted, now)]
}

type Versions = DependencyFacts['versions']

/** Returns a fault if the newest allowed version is older than the newest stable version. */
function lagOf(name: string, dependency: string, versions: Versions, admitted: Versions, now: Date): Fault[] {
  const newest = newestOf(admitted)
  const beyond = versions.filter(({ version, publishedAt }) => {
    const isOld = now.getTime() - new Date(publishedAt).getTime() > graceDays * dayMs
    return isOld && !isPrerelease(version) && (newest === null || compareParsed(known(version), known(newest)) > 0)
  })
  const latest = newestOf(beyond)
  if (!latest) return []
  const [is, was] = [known(latest).release, known(newest ?? '0.0.0').release]
  const majors = is[0] - was[0]
  const distance = majors > 0n ? amountOf(Number(majors), 'major version') : amountOf(beyond.length, 'release')
  const fault = `${dependency} does not allow ${code(latest)}: it is ${distance} behind.`
  return [{ fault, remedy: `Run \`dart pub upgrade --major-versions ${name}\`, adapt the code, and publish a version.` }]
}

function newestOf(versions: Versions): string | null {
  const texts = versions.map(({ version }) => version).filter((version) => parseVersion(version) !== null)
  return texts.toSorted((a, b) => compareParsed(known(b), known(a)))[0] ?? null
}

function boundFaults({ name, constraint }: Dependency, facts: DependencyFacts | null): Fault[] {
  const stated = parseConstraint(constraint)
  const dependency = `${code(name)} (${code(constraint)})`
  const remedy = `Write the lowest version that the package works with, such as ${code(`${name}: ^${(facts && newestOf(facts.versions)) ?? '1.2.0'}`)}.`
  if (!stated) return [{ fault: `${dependency} has a constraint that cannot be read.`, remedy }]
  if (isImpossible(stated)) return [{ fault: `${dependency} allows no version.`, remedy }]
  return stated.min ? [] : [{ fault: `${dependency} has no lower bound, so pub may select untested versions.`, remedy }]
}

/** Checks whether the current stable Dart SDK is supported. Source: pana's rules. */
export function judgeSdk({ contents, facts }: Subject): Criterion {
  const latest = latestOf(facts.dart)
  return check(
    { id: 'sdk', title: 'Support the latest stable Dart SDK' },
    sdkFaults(contents.pubspec, latest),
    `It can be used with Dart ${latest} or later.`,
  )
}

/** Newest stable Dart release known to this version of the engine. The server may know a newer one. */
const lastKnownDart = '3.11.0'

function latestOf(dart: string | null): string {
  const given = dart === null ? null : parseVersion(dart)
  return given && compareParsed(given, known(lastKnownDart)) > 0 ? given.text : lastKnownDart
}

/** A lower bound beyond the latest known release is not a fault, since newer releases may exist. */
function sdkFaults(pubspec: Pubspec, latest: string): Fault[] {
  const stated = constraintOn(pubspec)
  const text = code(textOf(pubspec) ?? '')
  if (!stated) return [{ fault: 'There is no constraint on the Dart SDK.', remedy: 'Add `environment: {sdk: ^3.0.0}` to `pubspec.yaml`.' }]
  if (!isNullSafe(stated)) {
    const remedy = 'Migrate it to null safety, and raise the lower bound to `^3.0.0`.'
    return [{ fault: `It is not null-safe: ${text} begins before Dart 2.12.`, remedy }]
  }
  if (allows({ ...throughDart3(stated), min: null }, latest)) return []
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
const releaseOf = ({ release }: Version): Version => readVersion(release.join('.')) ?? known('0.0.0')
