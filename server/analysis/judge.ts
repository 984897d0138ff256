import type { Api } from '../dart/api.ts'
import type { KnownPackage } from '../dart/reach.ts'
import type { Criterion, Report } from './report.ts'
import type { PackageFacts } from './task.ts'
import type { PackageContents } from './unpack.ts'

/** What a package is judged by. */
export type Subject = { contents: PackageContents; facts: PackageFacts; api: Api; packages: ReadonlyMap<string, KnownPackage> }

/** What was left out, and why. */
export type Unmeasured = Report['notMeasured'][number]

/** What came of a criterion. */
export type Finding = Criterion | Unmeasured

/** What is wrong, and what to do about it; both as sentences of Markdown. */
export type Fault = { fault: string; remedy: string }

export type Criteria = Pick<Criterion, 'id' | 'title' | 'maximum'>

/** All points where nothing is wrong, else none. */
export function allOrNothing(criterion: Criteria, faults: readonly Fault[], passed: string): Criterion {
  return faults.length === 0 ? granting(criterion, criterion.maximum, passed) : granting(criterion, 0, ...explained(faults))
}

/** So many points, for a reason. */
export function granting(criterion: Criteria, granted: number, reason: string, remedy: string | null = null): Criterion {
  const { id, title, maximum } = criterion
  return { id, title, granted, maximum, reason, remedy }
}

/** Faults as Markdown: a sentence, or a list of them. */
export function explained(faults: readonly Fault[]): [reason: string, remedy: string] {
  return [listed(faults.map(({ fault }) => fault)), listed([...new Set(faults.map(({ remedy }) => remedy))])]
}

/** Text of the package as code in Markdown, on one line. */
export function code(text: string): string {
  const short = text.replaceAll(/[\s`]+/g, ' ').trim()
  return `\`${short.length > maxCode ? `${short.slice(0, maxCode)}…` : short}\``
}

/** The first few of many, such as "`a`, `b` and 3 more". */
export function firstOf(names: readonly string[], most = 5): string {
  const more = names.length - most
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ')
}

/** `1 link`, `2 links`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const maxCode = 120

function listed(sentences: string[]): string {
  return sentences.length === 1 ? (sentences[0] ?? '') : sentences.map((sentence) => `- ${sentence}`).join('\n')
}
