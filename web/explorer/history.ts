import { useLocalStorage } from '@vueuse/core'

/** A query that was run, and when, in milliseconds since 1970. */
export type Ran = { query: string; at: number }

const maxEntries = 30

/** Queries that were run in this browser, the newest first. Variables and headers are not kept, because they may contain secrets. */
export const queryHistory = useLocalStorage<Ran[]>('snug-graphql-history', [])

/** Adds a query to the history, or moves it to the top. */
export function rememberQuery(query: string, at = Date.now()): void {
  queryHistory.value = [{ query, at }, ...queryHistory.value.filter((entry) => entry.query !== query)].slice(0, maxEntries)
}

export function clearHistory(): void {
  queryHistory.value = []
}

/** Returns a title for a query: the name of its first operation, or its first field. */
export function queryTitle(query: string): string {
  const text = query.replace(/#.*/g, '')
  const [, kind = 'query', name] = /(query|mutation|subscription)\s+(\w+)/.exec(text) ?? []
  if (name) return `${name} (${kind})`
  return /\{\s*(\w+)/.exec(text)?.[1] ?? 'Query'
}
