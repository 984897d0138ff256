/**
 * Attributes of a UInputMenu while its list is closed. Otherwise it refers to the option that was highlighted last, which no longer exists. While the
 * list is open, the attribute must be absent, not undefined.
 */
export const closedCombobox = { 'aria-activedescendant': undefined }
