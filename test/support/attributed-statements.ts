import { AsyncLocalStorage } from 'node:async_hooks'

const recorders = new AsyncLocalStorage<string[]>()

/** Records a statement for the work that caused it. Statements of jobs and of other requests that run at the same time belong to other work. */
export const recordStatement = (sql: string): void => void recorders.getStore()?.push(sql)

/** Runs `work` and returns its result and the statements that it caused. */
export async function attributeStatements<Result>(work: () => Promise<Result>): Promise<{ result: Result; statements: string[] }> {
  const statements: string[] = []
  return { result: await recorders.run(statements, work), statements }
}
