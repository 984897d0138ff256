/**
 * Copies text to the clipboard. Returns false if the browser rejects. Over plain HTTP, where the clipboard API is missing, the text is copied
 * from a temporary field next to `button`: inside a dialog, the focus trap would not let a field elsewhere have the focus.
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
  // Deprecated, but the only way to copy over plain HTTP.
  const isCopied = document.execCommand('copy')
  field.remove()
  button.focus()
  return isCopied
}
