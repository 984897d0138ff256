/** How the images of a document are resolved. Part of the cache key of a rendered text. */
export type ImageSettings = null

/**
 * Returns the URL from which the reader's browser loads an image, or null for an image that is not loaded, which becomes a link. `path` is the encoded
 * path in the package that a relative `target` names; the URL for a file of the package is `${rawPlaceholder}/${path}`.
 */
export function resolveImage(_target: string, _path: string | null, _settings: ImageSettings): string | null {
  return null
}
