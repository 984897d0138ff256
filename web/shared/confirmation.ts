import { computed, ref, type Ref, shallowRef } from 'vue'
import type { Failure } from '../graphql.ts'
import { announce } from './announce.ts'
import { focusHeading } from './page-title.ts'

/** What is asked before a change. */
export interface Question {
  title: string
  /** What will happen. */
  description: string
  /** The verb on the button. */
  action: string
  /** The color of the button, `error` by default. */
  tone?: 'error' | 'primary'
  /** What must be typed to confirm, and its label, as in "E-mail address". */
  phrase?: string
  what?: string
}

/** A question as confirm-dialog.vue shows it. */
export interface Confirmation {
  readonly isOpen: boolean
  readonly question: Question
  readonly running: boolean
  readonly failure: Failure | undefined
  dismiss: () => void
  confirm: () => void
  /** The dialog is closed, and the focus is back where it was. */
  closed: () => void
}

interface Change {
  running: Ref<boolean>
  failure: Ref<Failure | undefined>
}

interface Asking<Subject> {
  question: (subject: Subject) => Question
  /** Whose progress and failure the dialog shows. */
  change: Change | ((subject: Subject) => Change)
  /** Makes the change. What it returns is announced to screen readers; undefined when the change failed. */
  carryOut: (subject: Subject) => Promise<string | undefined>
  afterwards?: (subject: Subject) => unknown
  /** The button that opened the dialog is removed with its row: the focus goes to the page's heading. */
  removesRow?: boolean
}

const nothing: Question = { title: '', description: '', action: '' }

/** A question before a change: `ask` opens it, `confirmation` is for the dialog, which stays open when the change fails. */
export function useConfirmation<Subject = void>({ question, change, carryOut, afterwards, removesRow }: Asking<Subject>) {
  const asked = shallowRef<{ subject: Subject }>()
  const isOpen = ref(false)
  const isDone = ref(false)
  const current = computed(() => asked.value && (typeof change === 'function' ? change(asked.value.subject) : change))
  const shown = computed(() => (asked.value ? question(asked.value.subject) : nothing))

  function ask(subject: Subject) {
    asked.value = { subject }
    if (current.value) current.value.failure.value = undefined
    isDone.value = false
    isOpen.value = true
  }
  async function confirm() {
    if (!asked.value) return
    const { subject } = asked.value
    const message = await carryOut(subject)
    if (message === undefined) return
    isDone.value = true
    isOpen.value = false
    await afterwards?.(subject)
    if (message) announce(message)
  }
  const confirmation: Confirmation = {
    get isOpen() {
      return isOpen.value
    },
    get question() {
      return shown.value
    },
    get running() {
      return current.value?.running.value === true
    },
    get failure() {
      return current.value?.failure.value
    },
    dismiss: () => void (isOpen.value = false),
    confirm: () => void confirm(),
    closed: () => void (removesRow && isDone.value && focusHeading()),
  }
  return { ask, confirmation }
}
