import { readonly, ref } from 'vue'

const message = ref('')

/** Text of the polite live region that app.vue renders for screen readers. */
export const announcement = readonly(message)

/** Announces a message to screen readers without moving the focus. */
export function announce(text: string) {
  message.value = ''
  setTimeout(() => (message.value = text), 50) // clearing the region first makes screen readers repeat an identical message
}
