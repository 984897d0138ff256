import { createHmac } from 'node:crypto'
import type { Config } from '../../platform/config/config.ts'
import type { Keys } from '../../platform/http/keys.ts'
import { basePath } from '../../platform/http/public-url.ts'
import escapeHtml from 'escape-html'
import { imagePlaceholder, rawPlaceholder, unescapeHtml } from './finish.ts'

/** How the images of a document are resolved. Part of the cache key of a rendered text. */
export type ImageSettings = { serverUrl: string } & (
  | { mode: 'off' }
  | { mode: 'direct' }
  /** `endpoint` is the path of the image proxy. `key` (in hex) signs the URLs of its images. */
  | { mode: 'proxy'; endpoint: string; key: string }
)

/** Returns the image settings of the server. */
export function imageSettings({ config, keys }: { config: Pick<Config, 'README_IMAGES' | 'SERVER_URL'>; keys: Keys }): ImageSettings {
  const { README_IMAGES: mode, SERVER_URL: serverUrl } = config
  return mode === 'proxy'
    ? { serverUrl, mode, endpoint: `${basePath(serverUrl)}/images`, key: keys.image.toString('hex') }
    : { serverUrl, mode }
}

/**
 * Returns the URL from which the reader's browser loads an image, or null for an image that is not loaded, which becomes a link. `path` is the encoded
 * path in the package that a relative `target` names; the URL for a file of the package is `${rawPlaceholder}/${path}`.
 */
export function resolveImage(target: string, path: string | null, settings: ImageSettings): string | null {
  return path === null ? resolveRemote(target, settings) : `${rawPlaceholder}/${path}?image`
}

/** Returns the URL from which the reader's browser loads an image of another server, or null if the image is not loaded. */
export function resolveRemote(target: string, settings: ImageSettings): string | null {
  const url = /^https?:\/\//i.test(target.trim()) ? URL.parse(target.trim()) : null
  if (!url || url.username || url.password) return null
  url.hash = ''
  if (url.href.startsWith(`${settings.serverUrl}/`))
    return ownImage.test(url.href.slice(settings.serverUrl.length)) ? url.href.slice(url.origin.length) : null
  if (settings.mode === 'off') return null
  const source = contentUrl(url.href)
  if (source.length > maxUrl) return null
  if (settings.mode === 'direct') return source
  const signature = signatureOf(Buffer.from(settings.key, 'hex'), source)
  return `${settings.endpoint}?url=${encodeURIComponent(source)}&signature=${signature}`
}

/**
 * Paths of this server's images, such as badges. Browsers request images with the reader's session, and other paths have effects: they start an
 * upload or count a download.
 */
const ownImage =
  /^\/(?:packages\/\w+\/(?:badges\/\w+\.svg|preview\.png)|(?:raw|thumbnails)\/[^?]*|api\/(?:logo|users\/[\w-]+\/avatar)|icon-\d+\.png|favicon\.svg)(?:\?|$)/

/**
 * Returns a placeholder for the URL of a remote image, or null if the target is not an absolute URL. API documentation is generated without the key of
 * the image proxy, and its pages outlast the key, so `insertImages` completes them when they are sent.
 */
export function imageLater(target: string): string | null {
  const url = /^https?:\/\//i.test(target.trim()) ? URL.parse(target.trim()) : null
  return url && url.href.length <= maxUrl ? `${imagePlaceholder}${url.href}` : null
}

/** Maximum number of images on a page of API documentation. For others, the page shows the alternative text. */
const maxImages = 500

/** Replaces the placeholders of `imageLater` by the URLs from which the reader's browser loads the images. Images that are not loaded lose their URL. */
export function insertImages(html: string, settings: ImageSettings): string {
  let left = maxImages
  const insert = (_all: string, escaped: string): string => {
    const url = left-- > 0 ? resolveRemote(unescapeHtml(escaped), settings) : null
    return url === null ? '' : escapeHtml(url)
  }
  return html
    .replaceAll(sourcesLater, (sources) => sources.replaceAll(sourceLater, insert))
    .replaceAll(imagesLater, (_all, escaped: string) => {
      const url = insert('', escaped)
      return url && ` src="${url}"`
    })
}
const imagesLater = new RegExp(` src="${imagePlaceholder}([^"]*)"`, 'gu')
/** Commas in these URLs are encoded. */
const sourceLater = new RegExp(`${imagePlaceholder}([^\\s",]*)`, 'gu')
const sourcesLater = / srcset="[^"]*"/g

/** Longest URL of a remote image. */
export const maxUrl = 2000

/** Signs the URL of a remote image, so that the proxy fetches only images of documents. */
export const signatureOf = (key: Buffer, url: string): string => createHmac('sha256', key).update(url).digest('base64url')

/** Returns the URL of the file itself for a URL of GitHub's page about it. */
const contentUrl = (url: string): string => url.replace(/^(https:\/\/github\.com\/[^/]+\/[^/]+)\/blob\//, '$1/raw/')
