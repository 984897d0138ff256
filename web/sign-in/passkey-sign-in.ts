import { useIntervalFn } from '@vueuse/core'
import { onMounted, onScopeDispose, ref, shallowRef } from 'vue'
import {
  ProvePasskeyDocument,
  SignInWithPasskeyDocument,
  StartPasskeyProofDocument,
  StartPasskeySignInDocument,
} from '../generated/graphql.ts'
import { type Failure, useMutation } from '../graphql.ts'
import { adoptSession } from './session.ts'
import { askForPasskey, cancelPasskey, hasAutofill, type RequestOptions } from './webauthn.ts'

/** Signs in with a passkey. */
export function usePasskeySignIn() {
  const start = useMutation(StartPasskeySignInDocument, { signsIn: true })
  const finish = useMutation(SignInWithPasskeyDocument, { signsIn: true })
  const running = ref(false)
  const failure = shallowRef<Failure>()

  /** Returns whether the user signed in. With `useBrowserAutofill`, waits until the user chooses a passkey in a field of the page. */
  async function signIn({ useBrowserAutofill = false } = {}): Promise<boolean> {
    if (useBrowserAutofill) return attempt(true)
    running.value = true
    failure.value = undefined
    const isSignedIn = await attempt(false)
    running.value = false
    return isSignedIn
  }
  async function attempt(useBrowserAutofill: boolean): Promise<boolean> {
    const started = await start.run({})
    if (!started) {
      // The form for the password works without suggestions.
      if (!useBrowserAutofill) failure.value = start.failure.value
      return false
    }
    const answer = await askForPasskey(started.startPasskeySignIn.options as RequestOptions, { useBrowserAutofill })
    if (!useBrowserAutofill) failure.value = answer.failure
    if (!answer.response) return false
    const result = await finish.run({ input: { credential: answer.response } })
    failure.value = finish.failure.value
    return result !== undefined && adoptSession(result.signInWithPasskey.user.email)
  }
  return { signIn, running, failure }
}

/** Options of a passkey are valid for five minutes. Those of suggestions are renewed before. */
const renewalMs = 4 * 60_000

/** Suggests passkeys in the field for the e-mail address while the page is open. */
export function usePasskeyAutofill({ signIn, running }: ReturnType<typeof usePasskeySignIn>, whenSignedIn: () => unknown) {
  const renewal = useIntervalFn(() => void suggest(), renewalMs, { immediate: false })
  let isOver = false

  async function suggest() {
    if (!running.value && (await signIn({ useBrowserAutofill: true }))) await whenSignedIn()
  }
  onMounted(async () => {
    if (!(await hasAutofill()) || isOver) return
    renewal.resume()
    await suggest()
  })
  onScopeDispose(() => {
    isOver = true
    void cancelPasskey()
  })
}

/** Proves with a passkey that the signed-in user is present. */
export function usePasskeyProof() {
  const start = useMutation(StartPasskeyProofDocument, { signsIn: true })
  const finish = useMutation(ProvePasskeyDocument, { signsIn: true })
  const running = ref(false)
  const failure = shallowRef<Failure>()

  /** Returns whether the user proved it. */
  async function prove(): Promise<boolean> {
    running.value = true
    failure.value = undefined
    const started = await start.run({})
    const answer = started ? await askForPasskey(started.startPasskeyProof.options as RequestOptions) : { failure: start.failure.value }
    failure.value = answer.failure
    const result = answer.response && (await finish.run({ input: { credential: answer.response } }))
    failure.value ??= finish.failure.value
    running.value = false
    return result !== undefined
  }
  return { prove, running, failure }
}
