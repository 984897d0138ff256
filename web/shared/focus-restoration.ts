import { focusHeading } from './page-title.ts'

let button: HTMLButtonElement | undefined
let dialog: HTMLElement | null = null
/** The closest section with a heading. */
let section: HTMLElement | null = null
const observer = new MutationObserver(checkButton)

/**
 * Restores the focus to a button after its mutation has finished, since browsers remove the focus from a disabled button. If the button stays
 * disabled, its form receives the focus. If the button was removed, the heading of its section does. Otherwise, the page's heading does.
 */
export function restoreFocusAfterMutations() {
  addEventListener('click', remember, { capture: true })
  addEventListener('pointerdown', forget, { capture: true })
  addEventListener('focusin', ({ target }) => target !== button && target !== dialog && forget())
}

function remember() {
  if (!(document.activeElement instanceof HTMLButtonElement)) return
  button = document.activeElement
  dialog = button.closest<HTMLElement>('[role=dialog], [role=alertdialog]')
  section = button.closest<HTMLElement>('main section[aria-labelledby]')
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'disabled'] })
}

function forget() {
  button = undefined
  observer.disconnect()
}

function checkButton() {
  if (!button) return
  if (!button.isConnected) {
    forget()
    setTimeout(() => document.activeElement === document.body && focusSection()) // unless a closing dialog restores the focus
  } else if (!button.disabled) {
    if (document.activeElement !== button) button.focus({ preventScroll: true })
  } else if (dialog) {
    dialog.focus({ preventScroll: true }) // keeps Tab inside the dialog while the button is disabled
  } else if (!button.querySelector('.animate-spin')) focusFormOf(button)
}

function focusFormOf({ form }: HTMLButtonElement) {
  if (!form) return focusHeading()
  form.tabIndex = -1
  form.focus({ preventScroll: true })
}

function focusSection() {
  const heading = section?.isConnected && document.getElementById(section.getAttribute('aria-labelledby') ?? '')
  if (!heading) return focusHeading()
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
}
