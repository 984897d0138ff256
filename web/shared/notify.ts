import { shallowRef } from 'vue'

/** A message shown for a few seconds. */
export interface Notice {
  text: string
  /** Reverses the change that the message reports. Resolves to undefined if the server refused. */
  undo?: () => Promise<unknown>
  /** Whether the message reports a failure. */
  hasFailed?: boolean
}

/** The latest message. The toaster (shell/message-toaster.vue), which is loaded with the first message, shows it. */
export const latestNotice = shallowRef<Notice>()

/** Shows a message about a completed change for a few seconds and announces it to screen readers. */
export function notify(text: string, undo?: Notice['undo']) {
  latestNotice.value = { text, undo }
}

/** Shows a message about a failure in the same way, where no part of the page can show it. */
export function notifyFailure(text: string) {
  latestNotice.value = { text, hasFailed: true }
}
