import { allowsParsed, parseConstraint } from '../../../platform/pub/constraint.ts'
import { matchesName } from '../../../platform/pub/package-name.ts'
import { compareParsed, known, parseVersion, type Version } from '../../../platform/pub/version.ts'
import { affectedAmong, affectedPackages, fixedVersions, type Osv } from '../../advisories/osv.ts'
import { severities, severityOf } from '../../advisories/severity.ts'
import type { MirroredListing, MirroredVersion } from '../listing.ts'
import { licenseName } from '../../archive/license.ts'
import {
  describeSelector,
  type Exemption,
  isInEffect,
  type MirrorPolicies,
  type PolicyRule,
  policyRules,
  type Selector,
} from './settings.ts'

/** The result of a rule for a version. Verdicts of the mode `audit` have no effect. */
export type Verdict = {
  rule: PolicyRule
  mode: 'audit' | 'enforce'
  /** `retract`: new resolutions must not choose the version. `refuse`: the version is not available. */
  effect: 'retract' | 'refuse'
  /** A sentence in printable ASCII of at most 500 characters, which the package client prints. */
  reason: string
  /** When the verdict ends by itself; null if it does not. */
  until: Date | null
}

/** What policies need to know about a package in addition to its listing. */
export type PackageFacts = {
  advisories: readonly Osv[]
  /** Why some advisories cannot be read; null if all can. */
  unreadable: string | null
  /** Tags of the upstream score, such as `license:mit` and `publisher:dart.dev`; null if unknown. */
  tags: readonly string[] | null
}

export type Judgement = {
  /** By version; only versions with verdicts. */
  verdicts: Map<string, Verdict[]>
  /** When the minimum age or the end of an exemption next changes the result; null if neither does. */
  changesAt: Date | null
}

type Subject = { listing: MirroredListing; facts: PackageFacts; now: Date }
type Candidate = MirroredVersion & { parsed: Version | null }
type Finding = Pick<Verdict, 'reason'> & Partial<Pick<Verdict, 'effect' | 'until'>>
/** Judges one version. Returns null if the rule has nothing against it. */
type Check = (candidate: Candidate) => Finding | null

/** Applies the policies to all versions of a package. */
export function judge(policies: MirrorPolicies, listing: MirroredListing, facts: PackageFacts, now: Date): Judgement {
  const checks = policyRules.flatMap((rule) => {
    const { mode } = policies[rule]
    return mode === 'off' ? [] : [{ rule, mode, check: prepare[rule](policies, { listing, facts, now }) }]
  })
  const verdicts = new Map<string, Verdict[]>()
  if (checks.length === 0) return { verdicts, changesAt: null }
  const exemptions = policies.exemptions.filter((one) => one.name === listing.name && isInEffect(one, now))
  for (const version of listing.versions) {
    const candidate = { ...version, parsed: parseVersion(version.version) }
    const found = checks.flatMap(({ rule, mode, check }): Verdict[] => {
      const finding = exemptions.some((one) => one.rule === rule && (one.version ?? version.version) === version.version)
        ? null
        : check(candidate)
      return finding ? [{ rule, mode, effect: 'refuse', until: null, ...finding }] : []
    })
    if (found.length > 0) verdicts.set(version.version, found)
  }
  const untils = [...[...verdicts.values()].flat().map(({ until }) => until), ...exemptions.map(endOf)]
  const ends = untils.flatMap((until) => (until ? [until.getTime()] : []))
  return { verdicts, changesAt: ends.length > 0 ? new Date(ends.reduce((a, b) => Math.min(a, b))) : null }
}

const endOf = ({ until }: Exemption): Date | null => (until === null ? null : new Date(until))

/** Whether the policies depend on the advisories of a package. */
export const needsAdvisories = ({ advisories, minimumAge }: MirrorPolicies): boolean =>
  advisories.mode !== 'off' || (minimumAge.mode !== 'off' && minimumAge.exemptFixes)

/** Whether the policies depend on the tags of a package. */
export const needsTags = ({ licenses, packages }: MirrorPolicies): boolean =>
  (licenses.mode !== 'off' && licenses.allow.length + licenses.deny.length > 0) ||
  (packages.mode !== 'off' && [...packages.allow, ...packages.deny].some(({ publisher }) => publisher !== null))

const prepare: Record<PolicyRule, (policies: MirrorPolicies, subject: Subject) => Check> = {
  packages: checkLists,
  advisories: checkAdvisories,
  licenses: checkLicenses,
  minimumAge: checkAge,
}

function checkLists({ packages: { allow, deny } }: MirrorPolicies, { listing: { name }, facts }: Subject): Check {
  const publisher = tagged(facts, 'publisher')[0] ?? null
  // Versions that pub cannot order are outside every allowed range and inside every denied one.
  const denying = deny.flatMap((one) => matcher(one, { name, publisher }, true))
  const allowing = allow.flatMap((one) => matcher(one, { name, publisher }, false))
  return ({ version, parsed }) => {
    const denied = denying.find(({ matches }) => matches(parsed))
    if (denied) return { reason: `${name} ${version} is denied on this server by the entry "${describeSelector(denied.selector)}".` }
    if (allow.length === 0 || allowing.some(({ matches }) => matches(parsed))) return null
    return { reason: `${name} ${version} is not among the packages that this server allows.` }
  }
}

type Matcher = { selector: Selector; matches: (version: Version | null) => boolean }

/** Returns the part of a selector that depends on the version, or nothing if the selector does not select the package. */
function matcher(selector: Selector, pkg: { name: string; publisher: string | null }, otherwise: boolean): Matcher[] {
  if (selector.name !== null && !matchesName(selector.name, pkg.name)) return []
  // An unknown publisher matches no selector: packages without a publisher look the same.
  if (selector.publisher !== null && selector.publisher !== pkg.publisher) return []
  const constraint = selector.versions === null ? null : parseConstraint(selector.versions)
  return [{ selector, matches: constraint ? (version) => (version ? allowsParsed(constraint, version) : otherwise) : () => true }]
}

function checkAdvisories(
  { advisories: { severity: least, unknownAs } }: MirrorPolicies,
  { listing: { name, versions }, facts }: Subject,
): Check {
  const ordered = versions.flatMap(({ version }) => parseVersion(version) ?? [])
  const severe = applying(facts, name)
    .map(({ osv, entries }) => ({ osv, entries, severity: severityOf(osv) }))
    .map((one) => ({ ...one, rank: severities.indexOf(one.severity ?? unknownAs) }))
    .filter(({ rank }) => rank >= severities.indexOf(least))
    .sort((a, b) => b.rank - a.rank)
    .map((one) => ({ ...one, affected: affectedAmong(one.entries, ordered), fixes: fixedVersions(one.entries).map(known) }))
  const unreadable = facts.unreadable === null ? null : { reason: unreadableReason(name, facts.unreadable) }
  return ({ version, parsed }) => {
    const found = parsed && severe.find(({ affected }) => affected.has(version))
    if (!found) return unreadable
    const { osv, severity, fixes } = found
    const stated = severity === null ? `no stated severity, treated as ${unknownAs}` : `severity ${severity}`
    const fix = fixes.find((one) => compareParsed(one, parsed) > 0)
    const advice = fix ? ` It is fixed in ${fix.text}.` : ''
    return { reason: `${name} ${version} is affected by ${osv.id} (${stated}), which this server does not allow.${advice}` }
  }
}

const unreadableReason = (name: string, problem: string): string =>
  `${name} is not available, because security advisories about it cannot be read: ${problem}.`

/** Returns the advisories about a package that are not withdrawn, with the entries about it. */
const applying = ({ advisories }: PackageFacts, name: string) =>
  advisories
    .filter(({ withdrawn }) => withdrawn === undefined)
    .map((osv) => ({ osv, entries: affectedPackages(osv).filter((entry) => entry.package.name === name) }))

/** Tags that describe licenses. They can be allowed and denied like licenses. */
const descriptions = new Set(['fsf-libre', 'osi-approved'])
const unknown = 'unknown'

function checkLicenses({ licenses: { allow, deny } }: MirrorPolicies, { listing: { name }, facts }: Subject): Check {
  const tags = tagged(facts, 'license')
  const words = tags.length > 0 ? tags : [unknown]
  const refused = refusedLicenses(words, { allow, deny })
  if (!refused) return () => null
  if (refused.length === 0)
    return ({ version }) => ({ reason: `The license of ${name} ${version} is not recognized, which this server does not allow.` })
  const what = `${shown(refused)} ${refused.length === 1 ? 'license' : 'licenses'}`
  return ({ version }) => ({ reason: `${name} ${version} uses the ${what}, which this server does not allow.` })
}

/** Returns the licenses for which a package is refused, none if its license is unknown, or null if it is allowed. */
function refusedLicenses(
  words: readonly string[],
  { allow, deny }: { allow: readonly string[]; deny: readonly string[] },
): string[] | null {
  const denied = words.filter((word) => deny.includes(word))
  if (denied.length > 0) return denied.filter((word) => word !== unknown)
  if (allow.length === 0 || words.some((word) => allow.includes(word))) return null
  return words.filter((word) => !descriptions.has(word) && word !== unknown)
}

/** Returns the first words of a list, which is too long to show only if the upstream server sends nonsense. */
const shown = (words: readonly string[]): string => new Intl.ListFormat('en').format(words.slice(0, 3).map(licenseName))

const tagForm = /^[a-z0-9][a-z0-9.+-]{0,99}$/

/** Returns the values of the tags with a prefix, such as `mit` for `license:mit`. Leaves out what is neither a license nor a domain. */
const tagged = ({ tags }: PackageFacts, prefix: string): string[] =>
  (tags ?? []).flatMap((tag) => {
    const value = tag.startsWith(`${prefix}:`) ? tag.slice(prefix.length + 1).toLowerCase() : ''
    return tagForm.test(value) ? [value] : []
  })

const dayMs = 86_400_000

function checkAge({ minimumAge: { days, hide, exempt, exemptFixes } }: MirrorPolicies, { listing: { name }, facts, now }: Subject): Check {
  if (exempt.some((pattern) => matchesName(pattern, name))) return () => null
  const fixes = new Set(exemptFixes ? applying(facts, name).flatMap(({ entries }) => fixedVersions(entries)) : [])
  const age = days === 1 ? '1 day' : `${days} days`
  const effect = hide ? 'refuse' : 'retract'
  return ({ version, published, ageFrom }) => {
    const begun = Date.parse(ageFrom ?? published ?? '')
    const start = Number.isNaN(begun) ? now : new Date(begun)
    const until = new Date(start.getTime() + days * dayMs)
    if (until <= now || fixes.has(version)) return null
    const counted = ageFrom === undefined ? '' : ` (${published === null ? 'no date; first seen' : 'counted from'} ${minute(start)})`
    return {
      reason: `${name} ${version} is younger than ${age}, the minimum age on this server${counted}. It can be used from ${minute(until)}.`,
      effect,
      until,
    }
  }
}

/** Formats a time in UTC, rounded up to the minute so that the version can be used at that time. */
const minute = (time: Date): string =>
  `${new Date(Math.ceil(time.getTime() / 60_000) * 60_000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
