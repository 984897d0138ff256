import type { Context } from '../access/context.ts'
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

/** A package that depends on another one, by its name. */
export function dependentOf(node: unknown): Data {
  const { package: pkg, kind, ...rest } = node as Data
  return { package: (pkg as Data | null)?.name ?? null, ...rest, kind: String(kind).toLowerCase() }
}

/** What a version depends on, with REST's words for its kind and its source. */
export function dependenciesOf(data: Data, context: Context): Data {
  const dependencies = versionOf(data, context).dependencies as (Data & Record<'kind' | 'source', string>)[]
  return {
    dependencies: dependencies.map(({ kind, source, ...rest }) => ({ ...rest, kind: kind.toLowerCase(), source: source.toLowerCase() })),
  }
}
