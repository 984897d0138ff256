/** What executes statements: a server, or several instances that share a database. */
type Executing = { readonly queries: { readonly length: number } }

/** Maximum number of statements that a request has executed when the other one starts. Larger numbers hardly differ from one after the other. */
const maxStatements = 12

/** Number of rounds in which each of two requests starts first once for every number of statements. */
export const interleavings = 2 * (maxStatements + 1)

/**
 * Sends concurrent requests: the second one and all others start when the first has executed a number of SQL statements, which depends on the round.
 * In the second half of the rounds, the last request is the first. Returns the answers in the order of `requests`.
 */
export async function interleave<Answers extends readonly unknown[]>(
  app: Executing,
  round: number,
  requests: { [Index in keyof Answers]: () => Promise<Answers[Index]> },
): Promise<Answers> {
  const order = [...requests.keys()]
  if (round % interleavings > maxStatements) order.reverse()
  const target = app.queries.length + (round % (maxStatements + 1))
  const answers: Promise<unknown>[] = []
  for (const index of order) {
    const answer = requests[index]?.() ?? Promise.resolve()
    answers[index] = answer
    if (index === order[0]) await statementsOrEnd(app, target, answer)
  }
  return (await Promise.all(answers)) as unknown as Answers
}

/** Resolves when the app has executed `target` statements in total, or when the answer has arrived. */
async function statementsOrEnd(app: Executing, target: number, answer: Promise<unknown>): Promise<void> {
  const state = { hasEnded: false }
  const end = () => (state.hasEnded = true)
  answer.then(end, end)
  while (!state.hasEnded && app.queries.length < target) await new Promise(setImmediate)
}
