import { computed, type Ref } from 'vue'
import { useRoute } from 'vue-router'
import type { Failure } from '../graphql.ts'

/** What went wrong in a round through a provider and what to do, by the code in the URL. */
const messages: Record<string, (provider: string) => string> = {
  unknown_provider: (provider) => `This server has no sign-in provider “${provider}”. Sign in another way.`,
  provider_unreachable: (provider) => `${provider} does not respond. Try again later, or sign in another way.`,
  provider_failed: (provider) =>
    `${provider} reported an error or is not set up correctly. Sign in another way, or ask an administrator, who can see the reason.`,
  access_denied: (provider) => `${provider} did not confirm the sign-in: it was cancelled or is not permitted. Try again.`,
  invalid_response: (provider) => `The answer of ${provider} was not valid. Try again. If it happens again, ask an administrator.`,
  expired: (provider) => `The sign-in with ${provider} took too long, or the page was opened twice. Start again.`,
  not_linked: (provider) =>
    `No account of this server is linked to your identity at ${provider}. Sign in another way and link it in your security settings, or ask an administrator for an invitation.`,
  already_linked: (provider) => `This identity at ${provider} is already linked. Sign in to ${provider} with another identity.`,
  account_disabled: () => 'Your account is disabled. Ask an administrator.',
  no_auth_time: (provider) =>
    `${provider} does not report when you signed in, so this proves nothing. Sign in again and add a passkey within ten minutes, or use the one you have.`,
  wrong_identity: (provider) =>
    `You signed in to ${provider} with another identity than your account is linked to. Sign in there with the linked one.`,
  session_ended: () => 'Your session ended in the meantime. Sign in, then try again.',
  invitation_invalid: () => 'This invitation is not valid: it has expired, was used, or was replaced. Ask for a new one.',
  rate_limited: () => 'Too many attempts. Try again in a few minutes.',
}

/** Returns why the round through a provider failed that ended on this page, from the parameters `error` and `provider`. */
export function useRoundFailure(providers: Ref<readonly { name: string; label: string }[]>) {
  const route = useRoute()
  return computed<Failure | undefined>(() => {
    const { error, provider } = route.query
    if (typeof error !== 'string' || error === '') return undefined
    const name = typeof provider === 'string' ? provider : ''
    const label = providers.value.find((one) => one.name === name)?.label || name || 'The provider'
    const message = messages[error]?.(label) ?? `Signing in with ${label} failed. Try again, or sign in another way.`
    return { code: error, message }
  })
}
