import type { CombinedError } from '@urql/vue'
import { computed, shallowRef } from 'vue'
import { LoginDocument, type LoginInput, LogoutDocument, SessionDocument, type SessionQuery } from '../generated/graphql.ts'
import { csrfCookie, csrfHeader, setCsrfToken } from '../csrf.ts'
import { client, type Failure, failureOf, useMutation } from '../graphql.ts'
import { endQueries } from '../read-your-writes.ts'
import { registry } from '../shared/registry.ts'

const session = shallowRef<SessionQuery>()
const failure = shallowRef<Failure>()

/** Whether the session can do nothing before the user has chosen a new password, or proved or set up a second factor. */
const isRestricted = ({ mustChangePassword, mustProveSecondFactor }: NonNullable<SessionQuery['viewer']>) =>
  mustChangePassword || mustProveSecondFactor

/** Returns the signed-in user and facts about the server. */
export function useSession() {
  return {
    viewer: computed(() => session.value?.viewer ?? undefined),
    isRestricted: computed(() => session.value?.viewer != null && isRestricted(session.value.viewer)),
    /** Whether packages can be browsed: by users whose session is not restricted, and by everyone if public packages are enabled. */
    mayBrowse: computed(() =>
      session.value?.viewer ? !isRestricted(session.value.viewer) : session.value?.setup?.publicBrowsing === true,
    ),
    /** Whether the viewer's role permits publishing and owning packages. */
    mayPublish: computed(() => session.value?.viewer != null && session.value.viewer.role !== 'VIEWER'),
    server: computed(() => session.value?.server),
    setup: computed(() => session.value?.setup),
    failure,
  }
}

/** Returns a hint for new passwords with the minimum length that the server requires. */
export function usePasswordHint() {
  const { server } = useSession()
  return computed(() => `At least ${server.value?.passwordMinLength ?? 8} characters. A sentence is easier to remember than symbols.`)
}

/** The account that was signed in to in another tab, if it differs from the account of this page. */
export const otherAccount = shallowRef<SessionQuery['viewer']>()

/** Loads the session once, or reloads it with `again`. Returns false if the server does not respond or the browser has switched accounts. */
export async function loadSession({ again = false } = {}): Promise<boolean> {
  if (session.value && !again) return true
  const { data, error, token } = await currentSession()
  if (isOtherAccount(data?.viewer)) return false
  setCsrfToken(token)
  // Before the setup, the server returns an error for `viewer` only; the rest of the data is valid.
  session.value = data?.setup ? data : undefined
  if (session.value) registry.value = session.value.server
  failure.value = session.value || !error ? undefined : failureOf(error)
  return session.value !== undefined
}

/**
 * Returns whether the browser is still signed in to the account of this page. If that account signed in again in another tab, the page adopts
 * the new session. A session of another account is never adopted, since actions on this page would run as that account.
 */
export async function ensureSameAccount(): Promise<boolean> {
  if (!session.value || csrfCookie() === csrfHeader()['X-CSRF-Token']) return true
  const { data, token } = await currentSession()
  if (!data?.setup || isOtherAccount(data.viewer)) return false
  setCsrfToken(token)
  if (data.viewer) session.value = data
  return true
}

function isOtherAccount(viewer: SessionQuery['viewer'] | undefined): boolean {
  const shown = session.value?.viewer
  if (!viewer || !shown || viewer.id === shown.id) return false
  otherAccount.value = viewer
  return true
}

let asked: Promise<unknown> = Promise.resolve()

/** Queries the session. Calls are serialized, because urql would share the response of a concurrent query, which may predate a sign-in. */
function currentSession() {
  const answer = asked.then(ask)
  asked = answer
  return answer
}

/** Queries the session, and repeats the query if the CSRF cookie changed before the response. Returns the matching CSRF token with the data. */
async function ask(): Promise<{ data: SessionQuery | undefined; error: CombinedError | undefined; token: string | undefined }> {
  const token = csrfCookie()
  const { data, error } = await client.query<SessionQuery>(SessionDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  return token === csrfCookie() ? { data, error, token } : ask()
}

/** Removes the signed-in user from the page's state after the server has rejected the session. */
export function forgetViewer() {
  if (session.value) session.value = { ...session.value, viewer: null }
}

export function useLogin() {
  const { run, ...state } = useMutation(LoginDocument, { signsIn: true })
  async function login(input: LoginInput) {
    if (!(await run({ input }))) return false
    return adoptSession(input.email)
  }
  return { login, ...state }
}

/** Loads the session that was started for the account with this e-mail address; undefined if the page does not know it. */
export function adoptSession(email?: string): Promise<boolean> {
  if (email !== session.value?.viewer?.email) forgetViewer()
  return loadSession({ again: true })
}

/** Opens the login page after a password change, which ends all sessions. After signing in, the user continues at `redirect`. */
export function signInAgain(redirect: unknown) {
  endQueries()
  const login = new URL('login?notice=password-changed', document.baseURI)
  if (typeof redirect === 'string') login.searchParams.set('redirect', redirect)
  location.assign(login)
}

/** Signs out, also at the provider that started the session, and reloads the page, so that no account data stays in memory. */
export async function signOut() {
  if (!(await ensureSameAccount())) return
  endQueries()
  const { data } = await client.mutation(LogoutDocument, {}).toPromise()
  location.assign(data?.logout.endSessionUrl ?? new URL('login', document.baseURI))
}
