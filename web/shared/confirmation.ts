import { computed, ref, type Ref, shallowRef } from 'vue'
import type { Failure } from '../graphql.ts'
import { type Notice, notify } from './notify.ts'
import { focusHeading } from './page-title.ts'

/** Texts of a confirmation dialog. */
export interface Question {
  title: string
  /** Describes the consequences. */
  description: string
  /** Label of the confirm button: a verb. */
  action: string
  /** Color of the confirm button, `error` by default. */
  tone?: 'error' | 'primary'
  /** Text that the user must type to confirm. `what` is the label of the field, such as "E-mail address". */
  phrase?: string
  what?: string
}

/** State and callbacks of a confirmation dialog, rendered by confirm-dialog.vue. */
export interface Confirmation {
  readonly isOpen: boolean
  readonly question: Question
  readonly running: boolean
  readonly failure: Failure | undefined
  dismiss: () => void
  confirm: () => void
  /** Called after the dialog has closed and restored the focus. */
  closed: () => void
}

interface Change {
  running: Ref<boolean>
  failure: Ref<Failure | undefined>
}

interface ConfirmationOptions<Subject> {
  question: (subject: Subject) => Question
  /** The mutation whose progress and failure the dialog shows. */
  change: Change | ((subject: Subject) => Change)
  /** Runs the mutation. Returns a message about the change, with the way to undo it if there is one, or undefined if the mutation failed. */
  carryOut: (subject: Subject) => Promise<string | Notice | undefined>
  afterwards?: (subject: Subject) => unknown
  /** Whether the mutation removes the row of the button that opened the dialog. The focus then moves to the page's heading. */
  removesRow?: boolean
}

const nothing: Question = { title: '', description: '', action: '' }

/** Asks for confirmation before a mutation. `ask` opens the dialog, `confirmation` is its prop. The dialog stays open if the mutation fails. */
export function useConfirmation<Subject = void>({ question, change, carryOut, afterwards, removesRow }: ConfirmationOptions<Subject>) {
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
    if (typeof message === 'object') notify(message.text, message.undo)
    else if (message) notify(message)
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
