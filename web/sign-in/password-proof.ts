import { computed, ref, shallowRef } from 'vue'
import { ConfirmPasswordDocument } from '../generated/graphql.ts'
import { type Requirement, setProofPrompt, useMutation } from '../graphql.ts'
import { ensureSameAccount, useLogin, useSession } from './session.ts'

const { viewer } = useSession()

/** Resumes the mutations that wait for the password. The argument is whether the user confirmed it. */
const waiting = shallowRef<(confirmed: boolean) => void>()
/** The element that had the focus before the dialog opened. */
let origin: Element | null = null
const required = ref<Requirement>('password')

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

/** Whether a mutation is waiting for the password. */
export const isPasswordAsked = computed(() => waiting.value !== undefined)

/** Resumes the waiting mutations. */
export function finishProof(confirmed: boolean) {
  waiting.value?.(confirmed)
  waiting.value = undefined
}

/** State of the dialog that asks for the password when the server requires it or the session has ended. The mutation then continues. */
export function usePasswordProof() {
  const proof = useMutation(ConfirmPasswordDocument)
  const { login, ...signIn } = useLogin()
  const isSignIn = computed(() => required.value === 'session')
  const running = computed(() => (isSignIn.value ? signIn.running.value : proof.running.value))
  const failure = computed(() => (isSignIn.value ? signIn.failure.value : proof.failure.value))

  async function confirm(password: string) {
    const isMet = isSignIn.value
      ? await login(viewer.value?.email ?? '', password)
      : await proof.run({ input: { currentPassword: password } })
    if (isMet) finishProof(true)
  }
  function restoreFocus() {
    if (origin instanceof HTMLElement) origin.focus()
  }
  function cancel() {
    proof.failure.value = undefined
    signIn.failure.value = undefined
    finishProof(false)
  }
  return { isSignIn, confirm, restoreFocus, cancel, running, failure }
}
