import type { PanaSection } from './summary.ts'

/** What pana says of one criterion, taken out of the text of its section. */
export type Finding = {
  title: string
  granted: number
  maximum: number
  /** Tables and what else is no fault, as Markdown. */
  remarks: string
  faults: Fault[]
}

/** What cost points, and how to mend it, if that is said; both as Markdown. */
export type Fault = { fault: string; remedy: string }

// Source: `_makeSummary` and `Issue.markdown` in lib/src/report/_common.dart of pana.
const heading = /^### \[.\] (\d+)\/(\d+) points: (.*)$/m
const folded = /^<details>\s*<summary>([\s\S]*?)<\/summary>([\s\S]*?)^<\/details>$/gm
const place = /^`[^`\n]+:\d+:\d+`\n\n```\n[\s\S]*?\n```$/m
/** An issue that nothing is folded away of, to the next one. What pana lists with a tick is none. */
const unfolded = /^\* (?!✓)([\s\S]*?)(?=^\* |^<details>|$(?![\s\S]))/gm

/**
 * The criteria of a section. Texts in it can come from the package; should one of them pass for a criterion, the points do not add up, and the
 * section is taken as one.
 */
export function findingsIn({ title, summary, grantedPoints, maxPoints }: PanaSection): Finding[] {
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
    // A table that is folded away is no fault.
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

/** Paragraphs, those without text left out. */
export const joined = (...paragraphs: string[]): string =>
  paragraphs
    .map((paragraph) => paragraph.trim())
    .filter(Boolean)
    .join('\n\n')
