import { readFileSync } from 'node:fs'
import { newId } from '../../server/platform/db/base.ts'
import { skeletonOf } from '../../server/registry/names/service.ts'
import { storeDocument } from '../../server/registry/search/index-package.ts'
import type { TestApp } from '../app.ts'

/** A package of a public registry with plausible figures. README and API contain only the relevant words. */
type RealPackage = {
  name: string
  likes: number
  downloads: number
  dependents: number
  topics: string[]
  description: string
  readme: string
  api: string[]
}

/** Indexes 320 packages of a public registry as public packages, in the order that `arrange` returns. */
export async function addRealPackages(
  { services }: TestApp,
  arrange: (packages: RealPackage[]) => RealPackage[] = (packages) => packages,
): Promise<void> {
  const at = new Date(1_700_000_000_000)
  await services.database.fork().transactional(async (em) => {
    for (const { likes, downloads, dependents, ...texts } of arrange(realPackages())) {
      const packageId = newId()
      const moment = services.database.backend === 'sqlite' ? at.getTime() : at
      await em.execute(
        "insert into packages (id, created_at, name, skeleton, updated_at, description, latest_version) values (?, ?, ?, ?, ?, ?, '1.0.0')",
        [packageId, moment, texts.name, skeletonOf(texts.name), moment, texts.description],
      )
      const implemented = platformParts.exec(texts.name)?.[1] ?? null
      await storeDocument(em, { packageId, ...texts, tags: ['is:public'], implemented, shownTo: 2, createdAt: at, updatedAt: at })
      await em.execute(
        'update package_search_documents set likes = ?, downloads = ?, dependents = ?, public_dependents = ? where package_id = ?',
        [likes, downloads, dependents, dependents, packageId],
      )
    }
  })
}

/** Names of packages that implement a plugin for a platform, as their pubspecs declare. */
const platformParts =
  /^(camera|firebase_(?:auth|core)|geolocator|google_(?:maps_flutter|sign_in)|image_picker|local_auth|path_provider|permission_handler|shared_preferences|url_launcher|video_player|webview_flutter)_(?:android|apple|avfoundation|for_web|foundation|ios|linux|web|windows|wkwebview)$/

function realPackages(): RealPackage[] {
  const text = readFileSync(new URL('real-packages.txt', import.meta.url), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', likes, downloads, dependents, topics = '', description = '', readme = '', api = ''] = line.split('|')
      const counts = { likes: Number(likes), downloads: Number(downloads), dependents: Number(dependents) }
      return { name, ...counts, topics: topics.split(','), description, readme, api: api.split(' ') }
    })
}
