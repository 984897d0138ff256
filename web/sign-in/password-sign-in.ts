import { computed, ref } from 'vue'
import { useLogin } from './session.ts'

/** The codes that an account with an authenticator app needs after its password. */
export type Code = 'otp' | 'recoveryCode'

/** State of a form that signs in with a password and, if the account needs one, with a code or a passkey in a second step. */
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
    else if (!wanted.value && failure.value?.secondFactor?.some((way) => way !== 'passkey')) {
      const hasApp = failure.value.secondFactor.includes('otp')
      wanted.value = hasApp ? 'otp' : 'recoveryCode'
      // The message explains why the app cannot be used.
      if (hasApp) failure.value = undefined
    } else if (!wanted.value) password.value = ''
    return isSignedIn
  }
  /** Whether the account needs a passkey in place of the password. */
  const needsPasskey = computed(
    () => !wanted.value && failure.value?.secondFactor !== undefined && !failure.value.secondFactor.includes('otp'),
  )
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
  return { password, code, wanted: computed(() => wanted.value), needsPasskey, submit, restart, want, running, failure }
}

export type PasswordSignIn = ReturnType<typeof usePasswordSignIn>
