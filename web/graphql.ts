import {
  type AnyVariables,
  cacheExchange,
  Client,
  type CombinedError,
  fetchExchange,
  mapExchange,
  useQuery as useUrqlQuery,
} from '@urql/vue'
import { computed, type MaybeRefOrGetter, ref, shallowRef, toValue } from 'vue'
import type { TypedDocumentString } from './generated/graphql.ts'

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

let askForPassword: AskForPassword = () => Promise.resolve(false)
const signedOutListeners = new Set<() => void>()

export const client = new Client({
  url: new URL('graphql', document.baseURI).href,
  requestPolicy: 'cache-and-network',
  preferGetMethod: false,
  fetchSubscriptions: true, // as server-sent events
  fetchOptions: () => ({ credentials: 'same-origin', headers: csrfHeader() }),
  exchanges: [mapExchange({ onError }), cacheExchange, fetchExchange],
})

/** Calls back when the server no longer accepts the session. */
export const onSignedOut = (listener: () => void) => signedOutListeners.add(listener)

/** Sets what asks for the password when the server requires it before a change; it resolves to whether it was confirmed. */
export const provePasswordWith = (ask: AskForPassword) => void (askForPassword = ask)

/** `origin` had the focus when the change began: a button that shows its progress loses it meanwhile. */
type AskForPassword = (origin: Element | null) => Promise<boolean>

/**
 * A query that follows its variables, sent whenever `isWanted` becomes true. A page shows `data`, `loading` and `failure`; it keeps none of
 * them.
 */
export function useQuery<Result, Variables extends AnyVariables>(
  document: TypedDocumentString<Result, Variables>,
  variables: MaybeRefOrGetter<Variables>,
  isWanted: MaybeRefOrGetter<boolean> = true,
) {
  const query = useUrqlQuery<Result, Variables>({ query: document, variables, pause: () => !toValue(isWanted) })
  return {
    data: query.data,
    loading: computed(() => query.fetching.value || query.stale.value),
    failure: computed(() => (query.error.value ? failureOf(query.error.value) : undefined)),
    retry: () => void query.executeQuery({ requestPolicy: 'network-only' }),
  }
}

/**
 * A change that the user starts: `run` gives its result, or undefined and sets `failure`. When the server requires the password first, the
 * user is asked for it, and the change continues.
 */
export function useMutation<Result, Variables extends AnyVariables>(document: TypedDocumentString<Result, Variables>) {
  const running = ref(false)
  const failure = shallowRef<Failure>()
  async function run(variables: Variables): Promise<Result | undefined> {
    const origin = focused()
    running.value = true
    failure.value = undefined
    const change = () => client.mutation<Result, Variables>(document, variables).toPromise()
    let { data, error } = await change()
    let isUnproved = error !== undefined && failureOf(error).proof === 'password'
    if (isUnproved && (await askForPassword(origin))) {
      isUnproved = false
      ;({ data, error } = await change())
    }
    running.value = false
    if (error) failure.value = isUnproved ? unproved : failureOf(error)
    return error ? undefined : data
  }
  return { run, running, failure }
}

export const unreachable: Failure = {
  code: 'Unreachable',
  message: 'The server did not respond. Check the connection, then try again.',
}

const unproved: Failure = {
  code: 'InsufficientPermissions',
  message: 'Nothing was changed: this needs your password.',
}

const focused = () => document.activeElement

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

function onError(error: CombinedError) {
  if (failureOf(error).code === 'MissingAuthentication') for (const listener of signedOutListeners) listener()
}

/** The CSRF token: the server compares the header with the cookie. */
export function csrfHeader(): Record<string, string> {
  const token = /(?:^|; )(?:__Host-)?svc_csrf=([^;]*)/.exec(document.cookie)?.[1]
  return token ? { 'X-CSRF-Token': decodeURIComponent(token) } : {}
}
