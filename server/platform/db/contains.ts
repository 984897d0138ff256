/** Returns a `LIKE` pattern that matches texts containing the lower-cased `text`. Use it with `like ? escape '!'`. */
export const containing = (text: string): string => containingAsTyped(text.toLowerCase())

/** Returns the same pattern as `containing`, but keeps the case of `text`. */
export const containingAsTyped = (text: string): string => `%${text.replace(/[!%_]/g, '!$&')}%`
