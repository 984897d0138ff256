import { computed, ref, shallowRef } from 'vue'
import { ConfirmPasswordDocument } from '../generated/graphql.ts'
import { proveWith, type Requirement, useMutation } from '../graphql.ts'
import { isStillSame, useLogin, useSession } from './session.ts'

const { viewer } = useSession()

/** The changes that wait for the password: called with whether it was confirmed. */
const waiting = shallowRef<(confirmed: boolean) => void>()
/** What had the focus before. */
let origin: Element | null = null
const required = ref<Requirement>('password')

proveWith(
  (what, from) =>
    new Promise((resolve) => {
      if (!viewer.value) return resolve(false)
      if (what === 'account') return resolve(isStillSame())
      // A session is required to confirm the password, too: then one sign-in does for both.
      if (!waiting.value) origin = from
      required.value = what
      // Changes at the same time ask once.
      const before = waiting.value
      waiting.value = (confirmed) => {
        before?.(confirmed)
        resolve(confirmed)
      }
    }),
)

/** Whether a change waits for the password. */
export const isPasswordAsked = computed(() => waiting.value !== undefined)

/** Ends the wait for the password. */
export function finishProof(confirmed: boolean) {
  waiting.value?.(confirmed)
  waiting.value = undefined
}

/** The dialog that opens when the server requires the password, or a session; the change continues once that is met. */
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
  function returnFocus() {
    if (origin instanceof HTMLElement) origin.focus()
  }
  function cancel() {
    proof.failure.value = undefined
    signIn.failure.value = undefined
    finishProof(false)
  }
  return { isSignIn, confirm, returnFocus, cancel, running, failure }
}
