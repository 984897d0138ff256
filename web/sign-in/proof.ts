import { computed, ref, shallowRef, watch } from 'vue'
import { ConfirmPasswordDocument } from '../generated/graphql.ts'
import { type Requirement, setProofPrompt, useMutation } from '../graphql.ts'
import { usePasskeyProof, usePasskeySignIn } from './passkey-sign-in.ts'
import { usePasswordSignIn } from './password-sign-in.ts'
import { useRoundInWindow } from './provider-round.ts'
import { ensureSameAccount, loadSession, useSession } from './session.ts'
import { hasPasskeys } from './webauthn.ts'

const { viewer } = useSession()

/** Resumes the mutations that wait for a proof. The argument is whether the user gave it. */
const waiting = shallowRef<(confirmed: boolean) => void>()
/** The element that had the focus before the dialog opened. */
let origin: Element | null = null
const required = ref<Requirement>('proof')

setProofPrompt(
  (what, from) =>
    new Promise((resolve) => {
      if (!viewer.value) return resolve(false)
      if (what === 'account') return resolve(ensureSameAccount())
      // If another mutation is already waiting, keep the element that had the focus first. A single sign-in satisfies both requirements.
      if (!waiting.value) origin = from
      required.value = what
      // Concurrent mutations share one prompt.
      const before = waiting.value
      waiting.value = (confirmed) => {
        before?.(confirmed)
        resolve(confirmed)
      }
    }),
)

/** Whether a mutation is waiting for a proof. */
export const isProofAsked = computed(() => waiting.value !== undefined)

/** Resumes the waiting mutations. */
export function finishProof(confirmed: boolean) {
  waiting.value?.(confirmed)
  waiting.value = undefined
}

/**
 * State of the dialog that asks for a password, passkey or provider when the server requires a recent proof or the session has ended. The mutation
 * then continues.
 */
export function useProof() {
  const isSignIn = computed(() => required.value === 'session')
  const password = useMutation(ConfirmPasswordDocument)
  const signIn = usePasswordSignIn()
  const passkeySignIn = usePasskeySignIn()
  const passkeyProof = usePasskeyProof()

  async function finish(attempt: Promise<unknown>) {
    if (!(await attempt)) return
    signIn.restart()
    finishProof(true)
  }
  /** Confirms with the password, or signs in again with it. */
  function confirm() {
    if (isSignIn.value) return finish(signIn.submit(viewer.value?.email ?? ''))
    return finish(password.run({ input: { currentPassword: signIn.password.value } }))
  }
  const confirmWithPasskey = () => finish(isSignIn.value ? passkeySignIn.signIn() : passkeyProof.prove())
  watch(signIn.needsPasskey, (needsPasskey) => needsPasskey && hasPasskeys && confirmWithPasskey())
  const round = useRoundInWindow(() => finish(isSignIn.value ? loadSession({ again: true }) : Promise.resolve(true)))

  const failures = [password.failure, signIn.failure, passkeySignIn.failure, passkeyProof.failure, round.failure]
  function restoreFocus() {
    if (origin instanceof HTMLElement) origin.focus()
  }
  function cancel() {
    signIn.restart()
    round.forget()
    for (const failure of failures) failure.value = undefined
    finishProof(false)
  }
  return {
    isSignIn,
    signIn,
    confirm,
    confirmWithPasskey,
    round,
    restoreFocus,
    cancel,
    running: computed(() => (isSignIn.value ? signIn.running.value : password.running.value)),
    failure: computed(() => (isSignIn.value ? signIn.failure.value : password.failure.value)),
    passkeyFailure: computed(() => (isSignIn.value ? passkeySignIn.failure.value : passkeyProof.failure.value)),
    isPasskeyRunning: computed(() => (isSignIn.value ? passkeySignIn.running.value : passkeyProof.running.value)),
  }
}
