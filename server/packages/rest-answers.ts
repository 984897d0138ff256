import type { Context } from '../context.ts'
import type { Data } from '../rest/route.ts'
import { packageParameter, unknownPackage, unknownVersion, versionParameter } from './parameters.ts'

/** The package that the path names; 400 for what is no name, 404 for what is not there. */
export function packageOf(data: Data, { request }: Context): Data {
  const name = packageParameter(request)
  if (!data.package) throw unknownPackage(name)
  return data.package as Data
}

/** The version that the path names; 400 and 404 likewise. */
export function versionOf(data: Data, context: Context): Data {
  const { version } = packageOf(data, context)
  if (!version) throw unknownVersion(packageParameter(context.request), versionParameter(context.request))
  return version as Data
}
