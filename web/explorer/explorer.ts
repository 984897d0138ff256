import { ref, shallowRef } from 'vue'
import { csrfHeader } from '../csrf.ts'
import { languages } from './copy-as.ts'
import { queryHistory, rememberQuery } from './history.ts'
import { ensureSameAccount } from '../sign-in/session.ts'

/** The user's input: a GraphQL document, and variables and additional headers as JSON. */
export interface ExplorerRequest {
  query: string
  variables: string
  headers: string
  operation: string | undefined
}

/** The server's response. */
export interface Reply {
  status: number
  milliseconds: number
  /** Indented JSON. */
  text: string
}

const welcome = `# Press Ctrl+Enter (⌘+Enter) to run the query.
{
  viewer { displayName role }
  server { version url }
}
`

/** Returns the text with which the editor starts: the document that was run last, or an example. */
export const initialQuery = (): string => queryHistory.value[0]?.query ?? welcome

/** Returns the names of the operations in a document, so that the user can choose one if there are several. */
export const operationsIn = (query: string): string[] =>
  [...query.replace(/#.*/g, '').matchAll(/(?:^|[\s}])(?:query|mutation)\s+(\w+)/g)].flatMap(([, name]) => name ?? [])

/** Returns the user's request as code in a language, without the headers, which may contain secrets. Returns null if the variables are not JSON. */
export function codeOf({ query, variables, operation }: Omit<ExplorerRequest, 'headers'>, language: keyof typeof languages): string | null {
  const parsed = objectIn(variables)
  const operationName = operationsIn(query).length > 1 ? operation : undefined
  return parsed && languages[language]({ url: new URL('graphql', document.baseURI).href, query, variables: parsed, operationName })
}

export const invalidVariables = 'Variables must be a JSON object, such as {"name": "acme"}.'

/** Sends the user's request. `problem` is the reason why the request could not be sent. */
export function useExplorer() {
  const reply = shallowRef<Reply>()
  const problem = ref<string>()
  const running = ref(false)
  async function run({ query, variables, headers, operation }: ExplorerRequest): Promise<void> {
    const [parsedVariables, parsedHeaders] = [objectIn(variables), objectIn(headers)]
    problem.value = !parsedVariables
      ? invalidVariables
      : !parsedHeaders || Object.values(parsedHeaders).some((value) => typeof value !== 'string')
        ? 'Headers must be a JSON object of strings, such as {"Authorization": "Bearer svc_pat_…"}.'
        : undefined
    if (problem.value !== undefined) return
    rememberQuery(query)
    if (!(await ensureSameAccount())) return
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

/** Parses a JSON object. Empty text yields an empty object. Returns null if the text is not a JSON object. */
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
