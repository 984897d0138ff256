import { computed, ref } from 'vue'
import { useLogin } from './session.ts'

/** The codes that an account with an authenticator app needs after its password. */
export type Code = 'otp' | 'recoveryCode'

/** State of a form that signs in with a password and, if the account needs one, with a code in a second step. */
export function usePasswordSignIn() {
  const { login, running, failure } = useLogin()
  const password = ref('')
  const code = ref('')
  const wanted = ref<Code>()

  /** Signs in. Returns false if the server rejects the input or asks for a code. */
  async function submit(email: string): Promise<boolean> {
    const isSignedIn = await login({ email, password: password.value, ...(wanted.value && { [wanted.value]: code.value.trim() }) })
    code.value = ''
    if (isSignedIn) restart()
    else if (!wanted.value && failure.value?.secondFactor) {
      const hasApp = failure.value.secondFactor.includes('otp')
      wanted.value = hasApp ? 'otp' : 'recoveryCode'
      // The message explains why the app cannot be used.
      if (hasApp) failure.value = undefined
    } else if (!wanted.value) password.value = ''
    return isSignedIn
  }
  /** Returns to the step for the password. */
  function restart() {
    wanted.value = undefined
    password.value = ''
    failure.value = undefined
  }
  /** Switches between the code of the app and a recovery code. */
  function want(kind: Code) {
    wanted.value = kind
    code.value = ''
    failure.value = undefined
  }
  return { password, code, wanted: computed(() => wanted.value), submit, restart, want, running, failure }
}

export type PasswordSignIn = ReturnType<typeof usePasswordSignIn>
