import { shallowRef } from 'vue'
import { ConfirmPasswordDocument } from '../generated/graphql.ts'
import { provePasswordWith, useMutation } from '../graphql.ts'

/** What waits for the password: told whether it was confirmed. */
const waiting = shallowRef<(confirmed: boolean) => void>()
/** What had the focus before. */
let origin: Element | null = null

/** The dialog that the server's wish for the password opens; whatever asked goes on by itself once it is confirmed. */
export function usePasswordProof() {
  const { run, running, failure } = useMutation(ConfirmPasswordDocument)
  provePasswordWith(
    (from) =>
      new Promise((resolve) => {
        failure.value = undefined
        origin = from
        // Two changes at once ask once.
        const before = waiting.value
        waiting.value = (confirmed) => {
          before?.(confirmed)
          resolve(confirmed)
        }
      }),
  )
  function finish(confirmed: boolean) {
    waiting.value?.(confirmed)
    waiting.value = undefined
  }
  async function confirm(currentPassword: string) {
    if (await run({ input: { currentPassword } })) finish(true)
  }
  function returnFocus() {
    if (origin instanceof HTMLElement) origin.focus()
  }
  return { waiting, confirm, returnFocus, cancel: () => finish(false), running, failure }
}
