import { onScopeDispose, ref } from 'vue'
import { ConfirmIdentityDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'

/** Path of the page on which a round through a provider ends that started in a window of its own. */
const lastPage = '/signed-in'

/** Connects the windows of this browser. Unlike `window.opener`, it survives pages of other origins. */
const channelName = 'provider-round'

/** Reports to the page that started the round in another window that it has ended. */
export function reportRound() {
  const channel = new BroadcastChannel(channelName)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  channel.postMessage('done')
  channel.close()
}

/** Returns the address at which a sign-in through a provider starts. It ends on the page with the given path. */
export const signInAddress = ({ signInUrl }: { signInUrl: string }, path: string) =>
  `${signInUrl}?${new URLSearchParams({ return_to: path }).toString()}`

/**
 * Proves through a provider that the user is present, or signs in again, in a window of its own, so that nothing that was entered on this page is lost.
 * `whenDone` is called after the window has returned.
 */
export function useRoundInWindow(whenDone: () => unknown) {
  /** Name of the provider whose window is open. */
  const waitsFor = ref<string>()
  const { run, failure } = useMutation(ConfirmIdentityDocument, { signsIn: true })
  const channel = new BroadcastChannel(channelName)
  channel.addEventListener('message', () => {
    if (waitsFor.value === undefined) return
    waitsFor.value = undefined
    void whenDone()
  })
  onScopeDispose(() => channel.close())

  /** Opens the window at once, as browsers allow it only while they handle a click. */
  function openWindow(provider: string, address = '') {
    waitsFor.value = provider
    return globalThis.open(address, 'provider-round', 'popup,width=520,height=720')
  }
  const signIn = (provider: { name: string; signInUrl: string }) => openWindow(provider.name, signInAddress(provider, lastPage))
  async function prove({ name }: { name: string }) {
    const opened = openWindow(name)
    const result = await run({ provider: name, returnTo: lastPage })
    if (result) return opened?.location.assign(result.confirmIdentity.redirectUrl)
    waitsFor.value = undefined
    return opened?.close()
  }
  return { signIn, prove, forget: () => void (waitsFor.value = undefined), waitsFor, failure }
}
