import { audienceOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { findArchive } from '../packages/listing/archive.ts'
import { packageParameter, unknownVersion, versionParameter } from '../packages/parameters.ts'
import type { VersionArchive } from './reading/copies.ts'

/** Returns the archive of the version that the path names. @throws ApiError NotFound if it does not exist for the caller; InvalidInput. */
export async function requestedArchive(context: Context): Promise<VersionArchive> {
  const [name, version] = [packageParameter(context.request), versionParameter(context.request)]
  const archive = await findArchive(context, name, version, audienceOf(context))
  if (!archive) throw unknownVersion(name, version)
  return { name, version, ...archive }
}
