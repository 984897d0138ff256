const length = 8

/** Formats a typed user code as devices show it: upper case, and a hyphen after four letters. Other characters are dropped. */
export function formatCode(typed: string): string {
  const letters = typed
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .slice(0, length)
  return letters.length > length / 2 ? `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}` : letters
}

/** Whether a formatted code has all its letters. */
export const isComplete = (code: string): boolean => code.length === length + 1

/** Returns the position of the text cursor in the formatted code that is after the same letter as in the typed text. */
export function cursorIn(typed: string, position: number): number {
  const letters = formatCode(typed.slice(0, position)).replace('-', '').length
  return letters > length / 2 ? letters + 1 : letters
}
