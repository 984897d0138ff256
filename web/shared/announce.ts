import { readonly, ref } from 'vue'

const message = ref('')

/** What the polite live region says; app.vue shows it to screen readers. */
export const announcement = readonly(message)

/** Tells screen readers what happened, without moving the focus. */
export function announce(text: string) {
  message.value = ''
  setTimeout(() => (message.value = text), 50) // a region that is emptied first says the same words again
}
