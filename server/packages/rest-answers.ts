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

/** The advisories of a package as package clients read them; the date is that of the last change, also when nothing ever changed. */
export function advisoriesOf({ advisories, advisoriesUpdated, updatedAt }: Data): Data {
  const texts = advisories as { osv: string }[]
  return { advisories: texts.map(({ osv }) => JSON.parse(osv) as unknown), advisoriesUpdated: advisoriesUpdated ?? updatedAt }
}
