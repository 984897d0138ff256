/** A problem found by a verification: where it is, and what is wrong. */
export type Finding = { where: string; problem: string }

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
