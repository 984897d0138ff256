import { computed, shallowRef } from 'vue'
import { ConfirmPasswordDocument } from '../generated/graphql.ts'
import { provePasswordWith, useMutation } from '../graphql.ts'

/** What waits for the password: told whether it was confirmed. */
const waiting = shallowRef<(confirmed: boolean) => void>()
/** What had the focus before. */
let origin: Element | null = null

provePasswordWith(
  (from) =>
    new Promise((resolve) => {
      origin = from
      // Two changes at once ask once.
      const before = waiting.value
      waiting.value = (confirmed) => {
        before?.(confirmed)
        resolve(confirmed)
      }
    }),
)

/** Whether a change waits for the password. */
export const isPasswordAsked = computed(() => waiting.value !== undefined)

/** Tells what waits for the password whether it was confirmed. */
export function finishProof(confirmed: boolean) {
  waiting.value?.(confirmed)
  waiting.value = undefined
}

/** The dialog that the server's wish for the password opens; whatever asked goes on by itself once it is confirmed. */
export function usePasswordProof() {
  const { run, running, failure } = useMutation(ConfirmPasswordDocument)
  async function confirm(currentPassword: string) {
    if (await run({ input: { currentPassword } })) finishProof(true)
  }
  function returnFocus() {
    if (origin instanceof HTMLElement) origin.focus()
  }
  function cancel() {
    failure.value = undefined
    finishProof(false)
  }
  return { confirm, returnFocus, cancel, running, failure }
}
