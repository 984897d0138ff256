import type { ScoreOfVersionFragment } from '../generated/graphql.ts'
import { engineText, outcomeOf, pointsText } from './score-labels.ts'

type Report = NonNullable<ScoreOfVersionFragment['score']['report']>

/** Formats the report as Markdown, for example for an issue. Returns undefined if there is no report yet. */
export function reportAsMarkdown(name: string, { version, score }: ScoreOfVersionFragment): string | undefined {
  const { report } = score
  if (!report) return undefined
  const blocks = [
    `# ${name} ${version}: ${pointsText(score) ?? 'nothing measured'}`,
    `Analyzed by ${engineText(score)}${score.finishedAt ? ` at ${score.finishedAt}` : ''}.`,
    ...report.notes,
    ...report.sections.map(sectionText),
    report.notMeasured.length > 0 &&
      ['## Not measured', report.notMeasured.map(({ title, reason }) => `- **${title}**: ${indented(reason)}`).join('\n')].join('\n\n'),
  ]
  return `${blocks.filter(Boolean).join('\n\n')}\n`
}

const marks = { PASSED: '✅', PARTIAL: '🟡', FAILED: '❌', NOT_MEASURED: '➖' }

function sectionText({ title, grantedPoints, maxPoints, criteria }: Report['sections'][number]): string {
  const items = criteria.map((criterion) => {
    const mark = marks[outcomeOf(criterion.grantedPoints, criterion.maxPoints)]
    const lines = [
      `- ${mark} **${criterion.title}** (${criterion.grantedPoints}/${criterion.maxPoints})`,
      `  ${indented(criterion.reason)}`,
    ]
    return [...lines, ...(criterion.remedy ? [`  **How to improve:** ${indented(criterion.remedy)}`] : [])].join('\n\n')
  })
  return [`## ${title}: ${grantedPoints}/${maxPoints}`, ...items].join('\n\n')
}

/** Indents a text as part of a list item. */
const indented = (text: string) => text.trim().replaceAll('\n', '\n  ')
