import { computed, type Ref, ref, shallowRef } from 'vue'
import {
  ConfirmTotpDocument,
  DisableTotpDocument,
  IdentitiesDocument,
  LinkIdentityDocument,
  ProveTotpDocument,
  RegenerateRecoveryCodesDocument,
  RegisterPasskeyDocument,
  RemovePasskeyDocument,
  RenamePasskeyDocument,
  SecurityDocument,
  StartPasskeyRegistrationDocument,
  StartTotpDocument,
  UnlinkIdentityDocument,
} from '../generated/graphql.ts'
import { type Failure, useMutation, useQuery } from '../graphql.ts'
import { createPasskey, type CreationOptions } from '../sign-in/webauthn.ts'

/** Returns the passkeys, authenticator app and linked identities of the viewer. Restricted sessions cannot read the latter. */
export function useSecurity(isRestricted: Ref<boolean>) {
  const factors = useQuery(SecurityDocument)
  const identities = useQuery(IdentitiesDocument, { isWanted: () => !isRestricted.value })
  const wasRestricted = isRestricted.value
  const own = computed(() => identities.data.value?.me)
  return {
    me: computed(() => factors.data.value?.me ?? undefined),
    identities: computed(() => own.value?.linkedIdentities ?? []),
    hasPassword: computed(() => factors.data.value?.me?.hasPassword !== false),
    /** Stays true when the restriction is lifted, so that open dialogs stay. */
    isReady: computed(() => factors.data.value?.me != null && (wasRestricted || own.value != null)),
    loading: computed(() => factors.loading.value || identities.loading.value),
    failure: computed(() => factors.failure.value ?? identities.failure.value),
    retry() {
      factors.retry()
      if (!isRestricted.value) identities.retry()
    },
  }
}

/** Creates a passkey with the browser and registers it. */
export function useAddPasskey() {
  const start = useMutation(StartPasskeyRegistrationDocument)
  const registration = useMutation(RegisterPasskeyDocument)
  const running = ref(false)
  const failure = shallowRef<Failure>()

  async function register(name: string): Promise<boolean> {
    const started = await start.run({})
    failure.value = start.failure.value
    if (!started) return false
    const created = await createPasskey(started.startPasskeyRegistration.options as CreationOptions)
    failure.value = created.failure
    if (!created.response) return false
    const result = await registration.run({ input: { name, credential: created.response } })
    failure.value = registration.failure.value
    return result !== undefined
  }
  /** Returns whether the passkey was added. */
  async function add(name: string): Promise<boolean> {
    running.value = true
    try {
      return await register(name)
    } finally {
      running.value = false
    }
  }
  return { add, running, failure }
}

export const useLinkIdentity = () => useMutation(LinkIdentityDocument)
export const useUnlinkIdentity = () => useMutation(UnlinkIdentityDocument)
export const useRenamePasskey = () => useMutation(RenamePasskeyDocument)
export const useRemovePasskey = () => useMutation(RemovePasskeyDocument)
export const useStartTotp = () => useMutation(StartTotpDocument)
export const useProveTotp = () => useMutation(ProveTotpDocument)
export const useConfirmTotp = () => useMutation(ConfirmTotpDocument)
export const useRegenerateRecoveryCodes = () => useMutation(RegenerateRecoveryCodesDocument)
export const useDisableTotp = () => useMutation(DisableTotpDocument)
