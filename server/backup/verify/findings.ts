/** Something that is not as it should be: where, and what. */
export type Finding = { where: string; problem: string }

/** What was looked at, and what is wrong with it. */
export type Verified = { checked: Record<string, number>; problems: Finding[] }

/** Collects what a verification finds. */
export function openFindings() {
  const result: Verified = { checked: {}, problems: [] }
  return {
    result,
    /** Counts what was looked at, by what it is, such as `archives`. */
    count: (what: string, by = 1): void => void (result.checked[what] = (result.checked[what] ?? 0) + by),
    add: (where: string, problem: string): void => void result.problems.push({ where, problem }),
  }
}
export type Findings = ReturnType<typeof openFindings>
