import {
  type AnyVariables,
  cacheExchange,
  Client,
  CombinedError,
  fetchExchange,
  mapExchange,
  type Operation,
  type OperationResult,
  ssrExchange,
  type TypedDocumentNode,
  useQuery as useUrqlQuery,
} from '@urql/vue'
import { computed, type ComputedRef, type MaybeRefOrGetter, type Ref, ref, shallowRef, toValue, watch } from 'vue'
import { csrfCookie, csrfHeader } from './csrf.ts'
import { asPersistedQuery, outdatedPage, send, unknownHashField } from './documents.ts'
import { takeFirstAnswer } from './first-answers.ts'
import { changesSoFar, sendMutation, sendQuery } from './read-your-writes.ts'

/** An error reported by the server. */
export interface Failure {
  /** One of the API's stable codes, or `Unreachable` when the server did not respond. */
  code: string
  message: string
  /** The invalid input field. */
  field?: string
  /** Seconds to wait before retrying. */
  retryAfter?: number
  /** The confirmation that the server requires before it accepts the request, such as `password`. */
  proof?: string
  /** What a sign-in with the right password still needs: `otp`, `recoveryCode`. */
  secondFactor?: string[]
}

/**
 * A precondition of a mutation: `proof` requires the user to confirm that it is them, `session` to sign in again, and `account` requires that the
 * page was loaded for the account that the browser is now signed in to.
 */
export type Requirement = 'proof' | 'session' | 'account'

let promptForProof: ProofPrompt = () => Promise.resolve(false)
const signedOutListeners = new Set<() => void>()

/** Answers queries at once, without a request, from the data that the server embedded in the page. */
const embedded = ssrExchange({ isClient: true })

export const client = new Client({
  url: new URL('graphql', document.baseURI).href,
  requestPolicy: 'cache-and-network',
  preferGetMethod: false,
  fetchSubscriptions: true, // over server-sent events
  fetchOptions: () => ({ credentials: 'same-origin', headers: csrfHeader() }),
  exchanges: [mapExchange({ onOperation, onError }), cacheExchange, mapExchange({ onResult }), embedded, fetchExchange],
})

/** Registers a listener that is called when a query fails because the session has ended. */
export const onSignedOut = (listener: () => void) => signedOutListeners.add(listener)

/** Sets the function that asks the user to meet a requirement of a mutation, such as confirming that it is them. */
export const setProofPrompt = (ask: ProofPrompt) => void (promptForProof = ask)

/** Resolves to whether the user met the requirement. `origin` is the element that had the focus when the mutation started. */
type ProofPrompt = (required: Requirement, origin: Element | null) => Promise<boolean>

/** Variables of a document that declares none. */
type NoVariables = Record<string, never>

interface QueryOptions {
  /** Whether the query runs, true by default. */
  isWanted?: MaybeRefOrGetter<boolean>
  /** Whether the query must not navigate away from the page. Otherwise the user is sent to the sign-in page if the session has ended. */
  isBackground?: boolean
}

interface Query<Result> {
  data: Ref<Result | undefined>
  /** Whether the response is complete. After an error, a null field may mean that the field failed, not that it is empty. */
  isAnswered: ComputedRef<boolean>
  loading: ComputedRef<boolean>
  failure: ComputedRef<Failure | undefined>
  retry: () => void
}

type WithVariables<Variables> = QueryOptions & { variables: MaybeRefOrGetter<Variables> }

/** Runs a query, and again whenever its variables change or `isWanted` becomes true. */
export function useQuery<Result>(document: TypedDocumentNode<Result, NoVariables>, options?: QueryOptions): Query<Result>
export function useQuery<Result, Variables extends AnyVariables>(
  document: TypedDocumentNode<Result, Variables>,
  options: WithVariables<Variables>,
): Query<Result>
export function useQuery<Result, Variables extends Record<string, unknown>>(
  document: TypedDocumentNode<Result, Variables>,
  { variables = {} as Variables, isWanted = true, isBackground = false }: QueryOptions & { variables?: MaybeRefOrGetter<Variables> } = {},
): Query<Result> {
  const context = { isBackground }
  const query = useUrqlQuery<Result, Variables>({ query: document, variables, context, pause: () => !toValue(isWanted) })
  return {
    data: query.data,
    isAnswered: computed(() => query.data.value !== undefined && !query.error.value),
    loading: computed(() => query.fetching.value || query.stale.value),
    failure: computed(() => (query.error.value ? failureOf(query.error.value) : undefined)),
    retry: () => void query.executeQuery({ requestPolicy: 'network-only' }),
  }
}

/**
 * Runs a mutation. `run` returns the result, or returns undefined and sets `failure`. If the server requires a recent proof or the session has
 * ended, the user is asked for it and the mutation is retried, so that no input is lost. `signsIn` turns this off for
 * mutations that sign the user in.
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
    failure.value = await (signsIn ? change() : runWithProof(change))
    running.value = false
    return failure.value ? undefined : data
  }
  return { run, running, failure }
}

/** The state in the latest response to a mutation, until the page has queried it again: the button of a toggle must not show the former state. */
export function useChangedState<State>(queried: () => State) {
  const changed = shallowRef<State>()
  watch(queried, () => (changed.value = undefined))
  return { state: computed(() => changed.value ?? queried()), change: (state: State) => void (changed.value = state) }
}

/** Runs a mutation, and retries it after the user has met the server's requirement. Returns the failure, if any. */
export async function runWithProof(
  change: () => Promise<Failure | undefined>,
  origin = document.activeElement,
): Promise<Failure | undefined> {
  const failure = await change()
  const required = failure && requirementOf(failure)
  if (!required) return failure
  return (await promptForProof(required, origin)) ? runWithProof(change, origin) : unmetRequirements[required]
}

export const unreachable: Failure = {
  code: 'Unreachable',
  message: 'The server did not respond. Check the connection, then try again.',
}

const unmetRequirements: Record<Requirement, Failure> = {
  proof: { code: 'InsufficientPermissions', message: 'Nothing was changed: you did not confirm that it is you.' },
  session: { code: 'MissingAuthentication', message: 'Nothing was changed: you are no longer signed in.' },
  account: { code: 'CsrfMismatch', message: 'Nothing was changed: you signed in again after this page was loaded. Reload the page.' },
}

/** Returns whether a mutation failed because the user did not meet a requirement when asked. */
export const isDeclined = (failure: Failure): boolean => Object.values(unmetRequirements).includes(failure)

function requirementOf({ code, proof }: Failure): Requirement | undefined {
  if (code === 'MissingAuthentication') return 'session'
  if (code === 'CsrfMismatch' && csrfCookie() !== csrfHeader()['X-CSRF-Token']) return 'account'
  return proof === undefined ? undefined : 'proof'
}

/** Time in milliseconds for which prefetched data is shown without another request. */
const prefetchedMs = 10_000

/** The queries that were prefetched, and the number of mutations before. */
const prefetched = new Map<number, { at: number; changes: number }>()

/** Loads the data of a query that is likely to be needed soon. */
export function prefetchQuery(document: TypedDocumentNode, variables: Record<string, unknown>) {
  const request = { requestPolicy: 'cache-first' as const, isBackground: true }
  const changes = changesSoFar()
  void client
    .query(document, variables, request)
    .toPromise()
    .then(({ error, operation: { key, context } }) => {
      if (!error && context.meta?.cacheOutcome !== 'hit') prefetched.set(key, { at: performance.now(), changes })
    })
}

/** Whether the cache contains a recent answer that includes all changes made on this page. */
function isPrefetched(key: number) {
  const { at, changes } = prefetched.get(key) ?? { at: -Infinity, changes: -1 }
  return performance.now() - at < prefetchedMs && changes === changesSoFar()
}

/** Converts a GraphQL or network error to a failure for display. */
export function failureOf(error: CombinedError): Failure {
  const [first] = error.graphQLErrors
  if (!first) return unreachable
  const { code, field, retryAfter, proof, secondFactor } = first.extensions
  return {
    code: typeof code === 'string' ? code : 'InternalError',
    message: field === unknownHashField ? outdatedPage : first.message,
    ...(typeof field === 'string' && { field }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
    ...(typeof proof === 'string' && { proof }),
    ...(Array.isArray(secondFactor) && { secondFactor: secondFactor.map(String) }),
  }
}

/** Picks the fetch function by the kind of operation. Queries must not put data into the cache that is older than a completed mutation. */
function onOperation(sent: Operation): Operation {
  if (sent.kind === 'query' && sent.context.requestPolicy !== 'network-only') answerAtOnce(sent)
  const fetch = sent.kind === 'query' ? sendQuery : sent.kind === 'mutation' ? sendMutation : send
  const requestPolicy =
    sent.context.requestPolicy === 'cache-and-network' && isPrefetched(sent.key) ? 'cache-first' : sent.context.requestPolicy
  return asPersistedQuery({ ...sent, context: { ...sent.context, requestPolicy, fetch } })
}

function answerAtOnce({ key, query, variables }: Operation): void {
  const data = takeFirstAnswer((query as { documentId?: string }).documentId ?? '', variables ?? {})
  if (data !== undefined) embedded.restoreData({ [key]: { data: JSON.stringify(data) } })
}

const signedOut = new CombinedError({
  graphQLErrors: [{ message: 'You are no longer signed in.', extensions: { code: 'MissingAuthentication' } }],
})

/**
 * Removes the root fields that failed from the data, and the data if nothing is left: pages show the error, and not that there is nothing. Results
 * without data are not cached.
 */
function onResult(result: OperationResult): OperationResult {
  // Pages of an account select it as `me`. It is null after the session has ended.
  if (!result.error && isObject(result.data) && result.data.me === null) return { ...result, data: undefined, error: signedOut }
  const failed = new Set(result.error?.graphQLErrors.map(({ path }) => path?.[0]))
  if (failed.size === 0 || result.operation.kind !== 'query' || !isObject(result.data)) return result
  const left = Object.entries(result.data).filter(([name, value]) => value !== null || !failed.has(name))
  return { ...result, data: left.some(([name]) => name !== '__typename') ? Object.fromEntries(left) : undefined }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Notifies the sign-out listeners. Mutations ask the user to sign in themselves, and background queries must not navigate away from the page. */
function onError(error: CombinedError, { kind, context }: Operation) {
  // A cached result may be from before the user signed in.
  if (kind === 'mutation' || context.isBackground || context.meta?.cacheOutcome === 'hit') return
  if (failureOf(error).code === 'MissingAuthentication') for (const listener of signedOutListeners) listener()
}
