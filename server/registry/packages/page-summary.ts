import type { PageSummary } from '../../platform/console/page-head.ts'
import { isBrowsingOn } from '../../platform/access/audience.ts'
import type { Services } from '../../services.ts'
import { findPackage } from './service.ts'
import { descriptionOf, displayedVersion, findVersion } from './versions/service.ts'

const packagePage = /^\/packages\/([a-z0-9_]{1,64})(?:\/versions\/([\w.+-]{1,64}))?(?:\/([a-z]+))?\/?$/

const lists: Record<string, PageSummary> = {
  '/': { title: 'Packages', description: '', path: '/' },
  '/packages': { title: 'Packages', description: '', path: '/packages' },
}

/**
 * Returns the summary of a page about packages that everyone may read. Null for private packages and while public browsing is off, for all callers,
 * so that a page shared with others never describes them.
 */
export async function summarizePage(services: Pick<Services, 'config' | 'database'>, path: string): Promise<PageSummary | null> {
  const [, name, version, tab] = packagePage.exec(path) ?? []
  const list = lists[path] ?? null
  if ((!name && !list) || !(await isBrowsingOn(services))) return null
  if (!name) return list
  const reader = { em: services.database.fork(), viewer: null, config: services.config }
  const pkg = await findPackage(reader, name)
  const shown = pkg && (version ? await findVersion(reader, pkg, version) : await displayedVersion(reader, pkg))
  if (!shown) return null
  const page = `/packages/${name}${version ? `/versions/${version}` : ''}`
  return {
    title: version ? `${name} ${version}` : name,
    description: await descriptionOf(reader, pkg),
    path: tab ? `${page}/${tab}` : page,
    version: shown.version,
    image: `/packages/${name}/preview.png`,
  }
}
