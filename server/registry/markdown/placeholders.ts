// Rendered texts are cached by content for all packages, so URLs of the version start with a placeholder that `insertAddresses` replaces. The
// placeholders contain a noncharacter, which `renderMarkdown` removes from the source.
export const placeholderMark = '\u{FDD0}'
/** Placeholder for the URL of the version's page in the console. */
export const pagePlaceholder = `${placeholderMark}page`
/** Placeholder for the URL under which the files of the version are served as bytes. */
export const rawPlaceholder = `${placeholderMark}raw`
/** Placeholder before the URL of a remote image in API documentation, which `insertImages` replaces. */
export const imagePlaceholder = `${placeholderMark}image:`
