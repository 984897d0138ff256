/** The pattern of texts that contain this one, in lower case, for `like ? escape '!'`. */
export const containing = (text: string): string => `%${text.toLowerCase().replace(/[!%_]/g, '!$&')}%`
