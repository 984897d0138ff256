import { computed, shallowRef } from 'vue'
import { ConfirmPasswordDocument } from '../generated/graphql.ts'
import { provePasswordWith, useMutation } from '../graphql.ts'

/** The changes that wait for the password: called with whether it was confirmed. */
const waiting = shallowRef<(confirmed: boolean) => void>()
/** What had the focus before. */
let origin: Element | null = null

provePasswordWith(
  (from) =>
    new Promise((resolve) => {
      origin = from
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

/** The dialog that opens when the server requires the password; the change continues once it is confirmed. */
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
