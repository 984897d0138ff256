import type { Findings } from './findings.ts'

/** An entry of the audit log: its id, which says when it was made, and the moment that is written in it. */
export type Stamped = { id: string; at: number }

/** Instances stamp their entries with clocks that may differ by so much. */
const toleranceMs = 60_000

/** Whether the entries of an audit log, by their ids, are in the order of their moments, and each there once. */
export async function verifyAuditOrder(
  entries: AsyncIterable<Stamped> | Iterable<Stamped>,
  where: string,
  findings: Findings,
): Promise<void> {
  let latest: Stamped | undefined
  let before = ''
  for await (const entry of entries) {
    findings.count('audit entries')
    if (entry.id <= before) findings.add(where, `The audit entry ${entry.id} is there twice, or not in its place`)
    if (Number.isNaN(entry.at)) findings.add(where, `The audit entry ${entry.id} has no moment`)
    if (latest && entry.at < latest.at - toleranceMs)
      findings.add(where, `The audit entry ${entry.id} is of ${new Date(entry.at).toISOString()}, earlier than ${latest.id} before it`)
    before = entry.id
    if (!latest || entry.at > latest.at) latest = entry
  }
}
