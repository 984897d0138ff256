import { computed, shallowRef } from 'vue'
import { LoginDocument, LogoutDocument, SessionDocument, type SessionQuery } from '../generated/graphql.ts'
import { client, csrfHeader, type Failure, failureOf, useMutation } from '../graphql.ts'

const session = shallowRef<SessionQuery>()
const failure = shallowRef<Failure>()

/** Who is signed in, and facts about the server. */
export function useSession() {
  return {
    viewer: computed(() => session.value?.viewer ?? undefined),
    server: computed(() => session.value?.server),
    setup: computed(() => session.value?.setup),
    failure,
  }
}

/** What to say about a new password: the server knows how long it must be. */
export function usePasswordHint() {
  const { server } = useSession()
  return computed(() => `At least ${server.value?.passwordMinLength ?? 8} characters. A sentence is easier to remember than symbols.`)
}

/** Loads the session once; `again` after it has changed. False when the server does not respond. */
export async function loadSession({ again = false } = {}): Promise<boolean> {
  if (session.value && !again) return true
  const { data, error } = await client.query<SessionQuery>(SessionDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  // Before the setup, the viewer is an error: the rest of the answer counts.
  session.value = data?.setup ? data : undefined
  failure.value = session.value || !error ? undefined : failureOf(error)
  return session.value !== undefined
}

let token: string | undefined

/**
 * Reloads the page when somebody else has signed in, in another tab: the browser has one session, and what is done here would be done as
 * them.
 */
export async function noticeOtherAccount() {
  const current = csrfHeader()['X-CSRF-Token']
  const shown = session.value?.viewer?.id
  if (!shown || !current || current === token) return
  const { data } = await client.query<SessionQuery>(SessionDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  if (data?.viewer && data.viewer.id !== shown) location.reload()
  else token = current
}

/** Forgets who was signed in, after the server has rejected the session. */
export function forgetViewer() {
  if (session.value) session.value = { ...session.value, viewer: null }
}

export function useLogin() {
  const { run, ...state } = useMutation(LoginDocument, { signsIn: true })
  const login = async (email: string, password: string) =>
    (await run({ input: { email, password } })) !== undefined && (await loadSession({ again: true }))
  return { login, ...state }
}

/** After a change of the password, which ended all sessions: reloads at the login page, which leads to `redirect`. */
export function signInAgain(redirect: unknown) {
  const login = new URL('login?notice=password-changed', document.baseURI)
  if (typeof redirect === 'string') login.searchParams.set('redirect', redirect)
  location.assign(login)
}

/** Signs out and reloads, so that nothing of the account stays in memory. */
export async function signOut() {
  await client.mutation(LogoutDocument, {}).toPromise()
  location.assign(new URL('login', document.baseURI))
}
