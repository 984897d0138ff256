import type { PanaSection } from './summary.ts'

/** A criterion extracted from the text of a section of pana's report. */
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

/**
 * Extracts the criteria of a section. The text can contain text from the package that looks like a criterion. If the points do not add up, the
 * section is returned as a single criterion.
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

/** Joins non-empty paragraphs. */
export const joined = (...paragraphs: string[]): string =>
  paragraphs
    .map((paragraph) => paragraph.trim())
    .filter(Boolean)
    .join('\n\n')
