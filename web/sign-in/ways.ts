import { computed, type MaybeRefOrGetter, type Ref } from 'vue'
import { ProofWaysDocument, type SignInProviderFragment, SignInWaysDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { hasPasskeys } from './webauthn.ts'

/** Returns how users can sign in to this server. */
export function useSignInWays(isWanted: MaybeRefOrGetter<boolean> = true) {
  const { data } = useQuery(SignInWaysDocument, { isWanted, isBackground: true })
  return {
    /** The providers, sorted by label. */
    providers: computed(() => data.value?.oidcProviders ?? []),
    /** Whether only the owner signs in with a password. */
    isPasswordForOwner: computed(() => data.value?.signInSettings?.passwordSignIn === 'OWNER'),
  }
}

/** Returns how the user of this page can confirm that it is them, or sign in again after the session has ended. */
export function useProofWays(isAsked: Ref<boolean>, isSignIn: Ref<boolean>) {
  const ways = useSignInWays(() => isAsked.value && isSignIn.value)
  const own = useQuery(ProofWaysDocument, { isWanted: () => isAsked.value && !isSignIn.value, isBackground: true })
  const me = computed(() => own.data.value?.me)
  const linked = computed(() => uniqueProviders(me.value?.linkedIdentities?.map(({ provider }) => provider) ?? []))
  return {
    /** True until the answer arrives, because most accounts have one. */
    hasPassword: computed(() => isSignIn.value || me.value?.hasPassword !== false),
    hasPasskey: computed(() => hasPasskeys && (isSignIn.value || me.value?.passkeys?.some(({ status }) => status === 'ACTIVE') === true)),
    providers: computed(() => (isSignIn.value ? ways.providers.value : linked.value)),
    isReady: computed(() => isSignIn.value || me.value != null),
  }
}

const uniqueProviders = (providers: readonly (SignInProviderFragment | null | undefined)[]) => [
  ...new Map(providers.flatMap((one) => (one ? [[one.name, one] as const] : []))).values(),
]
