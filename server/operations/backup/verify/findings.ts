/** A problem found by a verification: where it is, and what is wrong. */
type Finding = { where: string; problem: string }

/** Result of a verification: the number of checked items by kind, and the problems found. */
export type Verified = { checked: Record<string, number>; problems: Finding[] }

/** Collects the results of a verification. */
export function openFindings() {
  const result: Verified = { checked: {}, problems: [] }
  return {
    result,
    /** Increases the number of checked items of a kind, such as `archives`. */
    count: (what: string, by = 1): void => void (result.checked[what] = (result.checked[what] ?? 0) + by),
    add: (where: string, problem: string): void => void result.problems.push({ where, problem }),
  }
}
export type Findings = ReturnType<typeof openFindings>

/** An audit entry: its time-ordered id and its timestamp. */
export type Stamped = { id: string; at: number }

/** Maximum difference in milliseconds between the clocks of instances. */
const toleranceMs = 60_000

/** Verifies that audit entries, sorted by id, have ascending timestamps and no duplicates. */
export async function verifyAuditOrder(
  entries: AsyncIterable<Stamped> | Iterable<Stamped>,
  where: string,
  findings: Findings,
): Promise<void> {
  let latest: Stamped | undefined
  let before = ''
  for await (const entry of entries) {
    findings.count('audit entries')
    if (entry.id <= before) findings.add(where, `The audit entry ${entry.id} is duplicated or out of order`)
    if (Number.isNaN(entry.at)) findings.add(where, `The audit entry ${entry.id} has no timestamp`)
    if (latest && entry.at < latest.at - toleranceMs)
      findings.add(
        where,
        `The audit entry ${entry.id} has the time ${new Date(entry.at).toISOString()}, which is earlier than that of the previous entry ${latest.id}`,
      )
    before = entry.id
    if (!latest || entry.at > latest.at) latest = entry
  }
}
