import type { Api } from '../dart/api.ts'
import type { KnownPackage } from '../dart/reachable-libraries.ts'
import type { Criterion, Report } from './report.ts'
import type { PackageFacts } from './task.ts'
import type { PackageContents } from './unpack.ts'

/** The package data that all scoring criteria are evaluated on. */
export type Subject = { contents: PackageContents; facts: PackageFacts; api: Api; packages: ReadonlyMap<string, KnownPackage> }

/** The outcome of a scoring criterion: its points, or the reason why it was not measured. */
export type Finding = Criterion | Report['notMeasured'][number]

/** A problem and its remedy, each as sentences in Markdown. */
export type Fault = { fault: string; remedy: string }

/** Points for a passed check. Every check has the same weight. */
const pointsPerCheck = 10

/** Passes a check if there are no faults. `passed` is the reason in this case. */
export function check(about: Pick<Criterion, 'id' | 'title'>, faults: readonly Fault[], passed: string): Criterion {
  const outcome =
    faults.length === 0
      ? { granted: pointsPerCheck, reason: passed, remedy: null }
      : {
          granted: 0,
          reason: sentenceList(faults.map(({ fault }) => fault)),
          remedy: sentenceList([...new Set(faults.map(({ remedy }) => remedy))]),
        }
  return { ...about, maximum: pointsPerCheck, ...outcome }
}

/** Formats a text from the package as Markdown inline code on one line, truncated to 120 characters. */
export function code(text: string): string {
  const short = text.replaceAll(/[\s`]+/g, ' ').trim()
  return `\`${short.length > maxCode ? `${short.slice(0, maxCode)}…` : short}\``
}

/** Lists the first few names, such as "`a`, `b` and 3 more". */
export function firstOf(names: readonly string[], most = 5): string {
  const more = names.length - most
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ')
}

const maxCode = 120

const sentenceList = (sentences: string[]): string =>
  sentences.length === 1 ? sentences.join() : sentences.map((sentence) => `- ${sentence}`).join('\n')
