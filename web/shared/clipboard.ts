/**
 * Copies a text; false when the browser refuses. Without the clipboard API, as over plain http, it is selected in a field beside `button`: a
 * dialog takes the focus back from everywhere else.
 */
export async function copyToClipboard(text: string, button: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text, button)
  }
}

function copySelected(text: string, button: HTMLElement): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.readOnly = true
  field.className = 'sr-only'
  button.after(field)
  field.select()
  // Deprecated, but nothing else copies over plain http.
  const isCopied = document.execCommand('copy')
  field.remove()
  button.focus()
  return isCopied
}
