import type { FastifyReply } from 'fastify'
import { audienceOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { findArchive } from '../packages/listing/archive.ts'
import { packageParameter, unknownVersion, versionParameter } from '../packages/parameters.ts'
import type { VersionArchive } from './reading/copies.ts'

/** Headers for content that users provided: a browser neither runs nor loads anything, whatever the content is. */
export function restrictContent(reply: FastifyReply): void {
  reply
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
    .header('x-content-type-options', 'nosniff')
    .header('cross-origin-resource-policy', 'same-origin')
}

/** Returns a `Content-Disposition` header for a download (RFC 6266). */
export function attachment(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

/** Returns the archive of the version that the path names. @throws ApiError NotFound if it does not exist for the caller; InvalidInput. */
export async function requestedArchive(context: Context): Promise<VersionArchive> {
  const [name, version] = [packageParameter(context.request), versionParameter(context.request)]
  const archive = await findArchive(context, name, version, audienceOf(context))
  if (!archive) throw unknownVersion(name, version)
  return { name, version, ...archive }
}
