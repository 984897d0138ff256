import {
  type AnyVariables,
  cacheExchange,
  Client,
  type CombinedError,
  fetchExchange,
  mapExchange,
  type Operation,
  type TypedDocumentNode,
  useQuery as useUrqlQuery,
} from '@urql/vue'
import { computed, type MaybeRefOrGetter, ref, shallowRef, toValue } from 'vue'
import { byHash, send } from './documents.ts'
import { sendChange, sendQuery } from './fresh-answers.ts'

/** An error, as the server reports it. */
export interface Failure {
  /** One of the API's stable codes, or `Unreachable` when the server did not respond. */
  code: string
  message: string
  /** The input field that is wrong. */
  field?: string
  /** Seconds until another try makes sense. */
  retryAfter?: number
  /** What must be confirmed before the same request is retried. */
  proof?: string
}

/**
 * What the server may require before it makes a change: that the password is confirmed, a session, when it has ended, or that the page belongs
 * to the session that the browser has now.
 */
export type Requirement = 'password' | 'session' | 'account'

let askForProof: AskForProof = () => Promise.resolve(false)
const signedOutListeners = new Set<() => void>()

export const client = new Client({
  url: new URL('graphql', document.baseURI).href,
  requestPolicy: 'cache-and-network',
  preferGetMethod: false,
  fetchSubscriptions: true, // as server-sent events
  fetchOptions: () => ({ credentials: 'same-origin', headers: csrfHeader() }),
  exchanges: [mapExchange({ onOperation, onError }), cacheExchange, fetchExchange],
})

/** Calls back when the server no longer accepts the session for what a page shows. */
export const onSignedOut = (listener: () => void) => signedOutListeners.add(listener)

/** Sets what asks for the password when the server requires it, or a session, before a change; it resolves to whether that is met. */
export const proveWith = (ask: AskForProof) => void (askForProof = ask)

/** `origin` had the focus when the change began: a button that shows its progress loses it meanwhile. */
type AskForProof = (required: Requirement, origin: Element | null) => Promise<boolean>

/**
 * A query that follows its variables, sent whenever `isWanted` becomes true. A page shows `data`, `loading` and `failure`; it keeps none of
 * them. The end of the session leads to the sign-in, unless the query runs in the background.
 */
export function useQuery<Result, Variables extends AnyVariables>(
  document: TypedDocumentNode<Result, Variables>,
  variables: MaybeRefOrGetter<Variables>,
  isWanted: MaybeRefOrGetter<boolean> = true,
  isBackground = false,
) {
  const context = { isBackground }
  const query = useUrqlQuery<Result, Variables>({ query: document, variables, context, pause: () => !toValue(isWanted) })
  return {
    data: query.data,
    /** Whether all of it was answered: what is null otherwise may only have failed. */
    isAnswered: computed(() => query.data.value !== undefined && !query.error.value),
    loading: computed(() => query.fetching.value || query.stale.value),
    failure: computed(() => (query.error.value ? failureOf(query.error.value) : undefined)),
    retry: () => void query.executeQuery({ requestPolicy: 'network-only' }),
  }
}

/**
 * A change that the user starts: `run` gives its result, or undefined and sets `failure`. When the server requires the password first, or
 * the session has ended, the user is asked for the password, and the change continues: what they entered is kept. One that `signsIn` needs
 * neither.
 */
export function useMutation<Result, Variables extends AnyVariables>(
  document: TypedDocumentNode<Result, Variables>,
  { signsIn = false } = {},
) {
  const running = ref(false)
  const failure = shallowRef<Failure>()
  async function run(variables: Variables): Promise<Result | undefined> {
    let data: Result | undefined
    const change = async () => {
      const result = await client.mutation<Result, Variables>(document, variables).toPromise()
      data = result.data
      return result.error && failureOf(result.error)
    }
    running.value = true
    failure.value = undefined
    failure.value = await (signsIn ? change() : proved(change))
    running.value = false
    return failure.value ? undefined : data
  }
  return { run, running, failure }
}

/** Makes a change, and again when what the server requires first has been met. Both give what went wrong. */
export async function proved(change: () => Promise<Failure | undefined>, origin = document.activeElement): Promise<Failure | undefined> {
  const failure = await change()
  const required = failure && requirementOf(failure)
  if (!required) return failure
  return (await askForProof(required, origin)) ? proved(change, origin) : unproved[required]
}

export const unreachable: Failure = {
  code: 'Unreachable',
  message: 'The server did not respond. Check the connection, then try again.',
}

const unproved: Record<Requirement, Failure> = {
  password: { code: 'InsufficientPermissions', message: 'Nothing was changed: this needs your password.' },
  session: { code: 'MissingAuthentication', message: 'Nothing was changed: you are no longer signed in.' },
  account: { code: 'CsrfMismatch', message: 'Nothing was changed: you have signed in anew since this page was loaded. Reload it.' },
}

function requirementOf({ code, proof }: Failure): Requirement | undefined {
  if (code === 'MissingAuthentication') return 'session'
  if (code === 'CsrfMismatch' && csrfCookie() !== csrfToken) return 'account'
  return proof === 'password' ? 'password' : undefined
}

/** What to tell the user about an error of any layer. */
export function failureOf(error: CombinedError): Failure {
  const [first] = error.graphQLErrors
  if (!first) return unreachable
  const { code, field, retryAfter, proof } = first.extensions
  return {
    code: typeof code === 'string' ? code : 'InternalError',
    message: first.message,
    ...(typeof field === 'string' && { field }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
    ...(typeof proof === 'string' && { proof }),
  }
}

/** What sends an operation: the cache must not be told of a time before a change that it knows of. */
function onOperation(sent: Operation): Operation {
  const fetch = sent.kind === 'query' ? sendQuery : sent.kind === 'mutation' ? sendChange : send
  return byHash({ ...sent, context: { ...sent.context, fetch } })
}

/** A change asks for a session by itself, and what nobody asked for must not take the page away. */
function onError(error: CombinedError, { kind, context }: Operation) {
  if (kind === 'mutation' || context.isBackground) return
  if (failureOf(error).code === 'MissingAuthentication') for (const listener of signedOutListeners) listener()
}

let csrfToken: string | undefined

/** The CSRF token of the session that the page belongs to: the server refuses it once the browser has another, begun in another tab. */
export const csrfHeader = (): Record<string, string> => (csrfToken === undefined ? {} : { 'X-CSRF-Token': csrfToken })

/** Sets the session that the page belongs to, by its CSRF token. */
export const belongTo = (token: string | undefined) => void (csrfToken = token)

/** The CSRF token of the session that the browser has now. */
export function csrfCookie(): string | undefined {
  const token = /(?:^|; )(?:__Host-)?svc_csrf=([^;]*)/.exec(document.cookie)?.[1]
  return token && decodeURIComponent(token)
}
