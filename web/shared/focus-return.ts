import { focusHeading } from './page-title.ts'

let button: HTMLButtonElement | undefined
let dialog: HTMLElement | null = null
const observer = new MutationObserver(look)

/**
 * Gives the focus back to the button that was pressed: a browser takes it from a button that is disabled while its change runs. When the button
 * stays disabled, its form gets the focus, and the page's heading when there is none, or when the button is gone.
 */
export function returnFocus() {
  addEventListener('click', remember, { capture: true })
  addEventListener('pointerdown', forget, { capture: true })
  addEventListener('focusin', ({ target }) => target !== button && target !== dialog && forget())
}

function remember() {
  if (!(document.activeElement instanceof HTMLButtonElement)) return
  button = document.activeElement
  dialog = button.closest<HTMLElement>('[role=dialog], [role=alertdialog]')
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'disabled'] })
}

function forget() {
  button = undefined
  observer.disconnect()
}

function look() {
  if (!button) return
  if (!button.isConnected) {
    forget()
    setTimeout(() => document.activeElement === document.body && focusHeading()) // unless a dialog that closes gives it back
  } else if (!button.disabled) {
    if (document.activeElement !== button) button.focus({ preventScroll: true })
  } else if (dialog) {
    dialog.focus({ preventScroll: true }) // nothing leaves the dialog by Tab meanwhile
  } else if (!button.querySelector('.animate-spin')) focusFormOf(button)
}

function focusFormOf({ form }: HTMLButtonElement) {
  if (!form) return focusHeading()
  form.tabIndex = -1
  form.focus({ preventScroll: true })
}
