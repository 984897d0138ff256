import type { CombinedError } from '@urql/vue'
import { computed, shallowRef } from 'vue'
import { LoginDocument, LogoutDocument, SessionDocument, type SessionQuery } from '../generated/graphql.ts'
import { belongTo, client, csrfCookie, csrfHeader, type Failure, failureOf, useMutation } from '../graphql.ts'

const session = shallowRef<SessionQuery>()
const failure = shallowRef<Failure>()

/** Who is signed in, and facts about the server. */
export function useSession() {
  return {
    viewer: computed(() => session.value?.viewer ?? undefined),
    /** Whether the viewer's role lets them publish, and own what is published. */
    mayPublish: computed(() => session.value?.viewer != null && session.value.viewer.role !== 'VIEWER'),
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

/** Whom the browser is signed in as by now, when the page still shows somebody else: they signed in in another tab. */
export const newcomer = shallowRef<SessionQuery['viewer']>()

/** Loads the session once; `again` after it has changed. False when the server does not respond, or somebody else is signed in by now. */
export async function loadSession({ again = false } = {}): Promise<boolean> {
  if (session.value && !again) return true
  const { data, error, token } = await currentSession()
  if (isNewcomer(data?.viewer)) return false
  belongTo(token)
  // Before the setup, the viewer is an error: the rest of the answer counts.
  session.value = data?.setup ? data : undefined
  failure.value = session.value || !error ? undefined : failureOf(error)
  return session.value !== undefined
}

/**
 * Whether the browser is still signed in as whom the page shows; the page then takes over a session that was begun anew in another tab. It
 * never takes over somebody else's: what is done here would be done as them.
 */
export async function isStillSame(): Promise<boolean> {
  if (!session.value || csrfCookie() === csrfHeader()['X-CSRF-Token']) return true
  const { data, token } = await currentSession()
  if (!data?.setup || isNewcomer(data.viewer)) return false
  belongTo(token)
  if (data.viewer) session.value = data
  return true
}

function isNewcomer(viewer: SessionQuery['viewer'] | undefined): boolean {
  const shown = session.value?.viewer
  if (!viewer || !shown || viewer.id === shown.id) return false
  newcomer.value = viewer
  return true
}

let asked: Promise<unknown> = Promise.resolve()

/** Asks one at a time: requests that are under way at once would share an answer, perhaps one for the session before. */
function currentSession() {
  const answer = asked.then(ask)
  asked = answer
  return answer
}

/** Who is signed in, with the CSRF token of the session that the answer is for. */
async function ask(): Promise<{ data: SessionQuery | undefined; error: CombinedError | undefined; token: string | undefined }> {
  const token = csrfCookie()
  const { data, error } = await client.query<SessionQuery>(SessionDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  return token === csrfCookie() ? { data, error, token } : ask()
}

/** Forgets who was signed in, after the server has rejected the session. */
export function forgetViewer() {
  if (session.value) session.value = { ...session.value, viewer: null }
}

export function useLogin() {
  const { run, ...state } = useMutation(LoginDocument, { signsIn: true })
  async function login(email: string, password: string) {
    if (!(await run({ input: { email, password } }))) return false
    if (email !== session.value?.viewer?.email) forgetViewer()
    return loadSession({ again: true })
  }
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
  if (!(await isStillSame())) return
  await client.mutation(LogoutDocument, {}).toPromise()
  location.assign(new URL('login', document.baseURI))
}
