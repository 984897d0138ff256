import type { ScoreOfVersionFragment } from '../generated/graphql.ts'
import { checksText, engineText, isPassed, outcomeOf, pointsText } from './score-labels.ts'

type Report = NonNullable<ScoreOfVersionFragment['score']['report']>

/** Formats the report as Markdown, for example for an issue. Returns undefined if there is no report yet. */
export function reportAsMarkdown(name: string, { version, score }: ScoreOfVersionFragment): string | undefined {
  const { report } = score
  if (!report) return undefined
  const blocks = [
    `# ${name} ${version}: ${checksText(score) ?? pointsText(score) ?? 'nothing measured'}`,
    `Analyzed by ${engineText(score)}${score.finishedAt ? ` at ${score.finishedAt}` : ''}.`,
    ...report.notes,
    ...(report.checks.length > 0 ? [checksList(report.checks)] : []),
    ...(score.engine === 'built-in' && report.checks.length > 0 ? [] : report.sections.map(sectionText)),
    report.notMeasured.length > 0 &&
      ['## Not measured', report.notMeasured.map(({ title, reason }) => `- **${title}**: ${indented(reason)}`).join('\n')].join('\n\n'),
  ]
  return `${blocks.filter(Boolean).join('\n\n')}\n`
}

const marks = { PASSED: '✅', PARTIAL: '🟡', FAILED: '❌', NOT_MEASURED: '➖' }

function checksList(checks: Report['checks']): string {
  const items = checks.map((check) => criterionText(check, `${isPassed(check) ? '✅' : '❌'} **${check.title}**`))
  return ['## Checks', ...items].join('\n\n')
}

function criterionText({ reason, remedy }: Report['checks'][number], title: string): string {
  return [`- ${title}`, `  ${indented(reason)}`, ...(remedy ? [`  **How to improve:** ${indented(remedy)}`] : [])].join('\n\n')
}

function sectionText({ title, grantedPoints, maxPoints, criteria }: Report['sections'][number]): string {
  const items = criteria.map((criterion) => {
    const mark = marks[outcomeOf(criterion.grantedPoints, criterion.maxPoints)]
    return criterionText(criterion, `${mark} **${criterion.title}** (${criterion.grantedPoints}/${criterion.maxPoints})`)
  })
  return [`## ${title}: ${grantedPoints}/${maxPoints}`, ...items].join('\n\n')
}

/** Indents a text as part of a list item. */
const indented = (text: string) => text.trim().replaceAll('\n', '\n  ')
