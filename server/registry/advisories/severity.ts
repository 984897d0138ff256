/** Severities of advisories, from least to most severe. */
export const severities = ['low', 'moderate', 'high', 'critical'] as const
export type Severity = (typeof severities)[number]

/** The fields of an advisory that state its severity. */
type Rated = { database_specific?: { severity?: string | undefined } | undefined; severity?: { type: string; score: string }[] | undefined }

/** Returns the severity that the advisory states in words, or null. */
export function statedSeverity({ database_specific: specific }: Pick<Rated, 'database_specific'>): Severity | null {
  const word = specific?.severity?.toLowerCase()
  return severities.find((severity) => severity === (word === 'medium' ? 'moderate' : word)) ?? null
}

/** Returns the stated severity, otherwise the one of the highest score of CVSS 3, or null. */
export function severityOf(osv: Rated): Severity | null {
  const stated = statedSeverity(osv)
  if (stated) return stated
  const scores = (osv.severity ?? []).flatMap(({ score }) => cvss3Score(score) ?? [])
  if (scores.length === 0) return null
  const score = Math.max(...scores)
  if (score < 4) return 'low'
  if (score < 7) return 'moderate'
  return score < 9 ? 'high' : 'critical'
}

/** Whether an advisory states a severity that this server cannot read, rather than none. */
export function hasUnknownSeverity(osv: Rated): boolean {
  if (statedSeverity(osv)) return false
  const vectors = (osv.severity ?? []).filter(({ type }) => type === 'CVSS_V3')
  if (vectors.length > 0) return vectors.some(({ score }) => cvss3Score(score) === null)
  return !/^(|none|unknown)$/i.test(osv.database_specific?.severity ?? '')
}

const impacts = { N: 0, L: 0.22, H: 0.56 }
const weights = {
  AV: { N: 0.85, A: 0.62, L: 0.55, P: 0.2 },
  AC: { L: 0.77, H: 0.44 },
  PR: { N: 0.85, L: 0.62, H: 0.27 },
  /** Privileges required, if the scope changes. */
  changedPR: { N: 0.85, L: 0.68, H: 0.5 },
  UI: { N: 0.85, R: 0.62 },
  C: impacts,
  I: impacts,
  A: impacts,
}

/**
 * Returns the base score of a CVSS 3.0 or 3.1 vector, or null for other texts. Source: first.org/cvss/v3.1/specification-document, chapter 7.1 and
 * appendix A.
 */
export function cvss3Score(vector: string): number | null {
  const [version = '', ...metrics] = vector.split('/')
  if (!/^CVSS:3\.[01]$/.test(version)) return null
  const letters = new Map(metrics.map((metric): [string, string] => [metric.split(':')[0] ?? '', metric.split(':')[1] ?? '']))
  const isChanged = letters.get('S') === 'C'
  if (!isChanged && letters.get('S') !== 'U') return null
  const weight = (metric: keyof typeof weights, letter = metric as string) =>
    (weights[metric] as Record<string, number>)[letters.get(letter) ?? ''] ?? Number.NaN
  const unharmed = (1 - weight('C')) * (1 - weight('I')) * (1 - weight('A'))
  const impact = isChanged ? 7.52 * (1 - unharmed - 0.029) - 3.25 * (1 - unharmed - 0.02) ** 15 : 6.42 * (1 - unharmed)
  const exploitability = 8.22 * weight('AV') * weight('AC') * weight(isChanged ? 'changedPR' : 'PR', 'PR') * weight('UI')
  const score = impact <= 0 ? 0 : roundUp(Math.min((isChanged ? 1.08 : 1) * (impact + exploitability), 10))
  return Number.isNaN(impact + exploitability) ? null : score
}

/** Rounds up to one decimal, ignoring errors of floating-point arithmetic. */
function roundUp(value: number): number {
  const scaled = Math.round(value * 100_000)
  return scaled % 10_000 === 0 ? scaled / 100_000 : (Math.floor(scaled / 10_000) + 1) / 10
}
