import { describe, expect, it } from 'vitest'
import { logLine } from '../../../server/analysis/pana/invocation.ts'
import { readSummary, toReport } from '../../../server/analysis/pana/to-report.ts'
import { recordedReport } from '../../support/recorded-report.ts'

/** Returns the report for pana output with one section. */
function reportOf(section: { id: string; granted: number; maximum: number; summary: string }, isPrivate = false) {
  const { id, granted, maximum, summary } = section
  const sections = [{ id, title: 'Its title', grantedPoints: granted, maxPoints: maximum, status: 'failed', summary }]
  const read = readSummary(`Resolving dependencies...\n${JSON.stringify({ ...recordedReport, report: { sections } }, null, 1)}`)
  if (read === null) throw new Error('no summary')
  return toReport(read, { isPrivate, sizes: [] })
}

const folded = (about: string, rest = '') => `<details>\n<summary>\n${about}\n</summary>\n\n${rest}\n</details>\n`

describe('report of pana', () => {
  it('includes the position of a problem and its solution', () => {
    const place = '`lib/a.dart:3:5`\n\n```\n  ╷\n3 │   var a;\n  ╵\n```'
    const faults = [
      folded('INFO: Unused.', `${place}\n\nTo reproduce run \`dart analyze\`.`),
      folded('INFO: Also.', 'To reproduce run `dart analyze`.'),
    ]
    const summary = `### [~] 40/50 points: code has no errors\n\nFound 3 issues. Showing the first 2:\n\n${faults.join('\n')}`
    const { sections } = reportOf({ id: 'analysis', granted: 40, maximum: 50, summary })
    expect(sections[0]).toMatchObject({ granted: 40, maximum: 50, status: 'partial' })
    expect(sections[0]?.criteria).toEqual([
      {
        id: 'static-analysis',
        title: 'code has no errors',
        granted: 40,
        maximum: 50,
        reason: `* INFO: Unused.\n  \n  ${place.replaceAll('\n', '\n  ')}\n* INFO: Also.\n\nFound 3 issues. Showing the first 2:`,
        remedy: 'To reproduce run `dart analyze`.',
      },
    ])
  })

  it('keeps a collapsed table that is not a problem', () => {
    const summary = `### [*] 10/10 points: All of the package dependencies are supported in the latest version\n\n|a|\n|:-|\n\n<details><summary>Transitive dependencies</summary>\n\n|b|\n|:-|\n</details>\n`
    const { sections } = reportOf({ id: 'dependency', granted: 10, maximum: 10, summary })
    expect(sections[0]?.criteria[0]).toMatchObject({
      id: 'dependencies',
      reason: '|a|\n|:-|\n\nTransitive dependencies:\n\n|b|\n|:-|',
      remedy: null,
    })
  })

  it('ignores a forged criterion in the output of a package', () => {
    const summary = '### [x] 0/50 points: code has no errors\n\n```\n### [*] 50/50 points: everything is fine\n```\n'
    const { sections } = reportOf({ id: 'analysis', granted: 0, maximum: 50, summary })
    expect(sections[0]).toMatchObject({ granted: 0, maximum: 50, status: 'failed' })
    expect(sections[0]?.criteria).toHaveLength(1)
  })

  it('only counts problems that apply to private packages', () => {
    const faults = [folded("Homepage URL isn't valid."), folded('The package description is too short.', 'Add more detail.')]
    const summary = `### [x] 0/10 points: Provide a valid \`pubspec.yaml\`\n\n${faults.join('\n')}`
    const { sections, notMeasured } = reportOf({ id: 'convention', granted: 0, maximum: 10, summary }, true)
    expect(sections[0]?.criteria[0]).toMatchObject({
      granted: 0,
      reason: 'The package description is too short.',
      remedy: 'Add more detail.',
    })
    expect(notMeasured.map(({ id }) => id)).toEqual(['urls'])
  })

  it('is null for other output', () => {
    for (const printed of ['', '{', '{}', '[]', 'null', '{"report":{"sections":[{"id":1}]}}']) expect(readSummary(printed)).toBeNull()
  })
})

it('formats JSON log lines as text', () => {
  expect(logLine('{"logName":"pana","level":"SEVERE","message":"failed","error":"why"}')).toBe('SEVERE: failed (why)')
  for (const line of ['plain', '{broken', '{"other":1}']) expect(logLine(line)).toBe(line)
})
