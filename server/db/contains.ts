/** The pattern of texts that contain this one, in lower case, for `like ? escape '!'`. */
export const containing = (text: string): string => containingAsTyped(text.toLowerCase())

/** The same in the case that it has. */
export const containingAsTyped = (text: string): string => `%${text.replace(/[!%_]/g, '!$&')}%`
