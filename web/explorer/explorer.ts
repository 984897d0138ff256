import { ref, shallowRef } from 'vue'
import { csrfHeader } from '../graphql.ts'
import { isStillSame } from '../sign-in/session.ts'

/** What was written in the explorer: a document, its variables and more headers, both as JSON. */
export interface ExplorerRequest {
  query: string
  variables: string
  headers: string
  operation: string | undefined
}

/** What the server answered. */
export interface Reply {
  status: number
  milliseconds: number
  /** JSON, indented. */
  text: string
}

const keptUnder = 'snug-graphql-query'

const welcome = `# Ctrl+Enter (⌘+Enter) runs this.
{
  viewer { displayName role }
  server { version url }
}
`

/** The document that was last run here, else one to begin with. Headers are never stored: they may hold a token. */
export const firstQuery = (): string => localStorage.getItem(keptUnder) ?? welcome

/** The names of a document's operations: whoever runs it must choose when there are several. */
export const operationsIn = (query: string): string[] =>
  [...query.replace(/#.*/g, '').matchAll(/(?:^|[\s}])(?:query|mutation)\s+(\w+)/g)].flatMap(([, name]) => name ?? [])

/** Sends the request as it was written. `problem` says why it cannot be sent. */
export function useExplorer() {
  const reply = shallowRef<Reply>()
  const problem = ref<string>()
  const running = ref(false)
  async function run({ query, variables, headers, operation }: ExplorerRequest): Promise<void> {
    const [parsedVariables, parsedHeaders] = [objectIn(variables), objectIn(headers)]
    problem.value = !parsedVariables
      ? 'Variables must be a JSON object, such as {"name": "acme"}.'
      : !parsedHeaders || Object.values(parsedHeaders).some((value) => typeof value !== 'string')
        ? 'Headers must be a JSON object of strings, such as {"Authorization": "Bearer svc_pat_…"}.'
        : undefined
    if (problem.value !== undefined) return
    localStorage.setItem(keptUnder, query)
    if (!(await isStillSame())) return
    running.value = true
    const began = performance.now()
    try {
      const response = await fetch(new URL('graphql', document.baseURI), {
        method: 'POST',
        credentials: 'same-origin',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json',
          ...csrfHeader(),
          ...(parsedHeaders as Record<string, string>),
        },
        body: JSON.stringify({ query, variables: parsedVariables, ...(operation && { operationName: operation }) }),
      })
      const text = await response.text()
      reply.value = { status: response.status, milliseconds: Math.round(performance.now() - began), text: indented(text) }
    } catch (error) {
      problem.value = `The request could not be sent: ${error instanceof Error ? error.message : String(error)}`
    } finally {
      running.value = false
    }
  }
  return { reply, problem, running, run }
}

/** Parses a JSON object; empty text is an empty object. Null when it is not an object. */
function objectIn(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
