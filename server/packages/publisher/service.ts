import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../audit/service.ts'
import type { SignedInContext } from '../../access/context.ts'
import { insufficientPermissions, invalidInput } from '../../errors.ts'
import { changePackage, unchanged } from '../changes/change-package.ts'
import { type Package, PackageUploader } from '../entity.ts'
import { canChoosePublisher } from '../policy.ts'
import type { Viewer } from '../../roles/viewer.ts'
import { lockPublisher } from '../../publishers/change-publisher.ts'
import type { Publisher } from '../../publishers/entity.ts'
import { isMember } from '../../publishers/policy.ts'

/**
 * Gives a package to a publisher, or to none. The caller is an uploader or a server admin, and a member of the publisher that gets it, and
 * of the one that loses it; the uploaders keep their rights.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput when nobody would be left to look after it.
 */
export function setPackagePublisher(context: SignedInContext, name: string, publisherId: string | null): Promise<Package> {
  return changePackage(
    context,
    name,
    canChoosePublisher,
    async (em, pkg) => {
      const from = pkg.publisher?.id ?? null
      const involved = await lockMine(em, context.viewer, [from, publisherId])
      if (publisherId === from) return unchanged(pkg)
      if (publisherId === null && (await em.count(PackageUploader, { package: pkg })) === 0)
        throw invalidInput(`${name} has no uploaders, so nobody could publish it. Add an uploader first.`, 'publisher')
      pkg.publisher = publisherId === null ? null : (involved.get(publisherId) ?? null)
      record(em, context, name, from, publisherId)
      return pkg
    },
    () => `Only uploaders of ${name} and administrators of this server can choose its publisher. Ask one of them.`,
  )
}

/** The publishers of these ids, locked in one order; none of them is foreign to the caller. */
async function lockMine(em: EntityManager, viewer: Viewer, ids: (string | null)[]): Promise<Map<string, Publisher>> {
  const publishers = new Map<string, Publisher>()
  for (const id of [...new Set(ids)].filter((one) => one !== null).toSorted()) {
    const publisher = await lockPublisher(em, id)
    if (!(await isMember(em, viewer, publisher)))
      throw insufficientPermissions(`You are not a member of the publisher ${id}. Ask one of its admins to add you.`)
    publishers.set(id, publisher)
  }
  return publishers
}

/** An entry for each publisher that is concerned, so that the history of both tells it. */
function record(em: EntityManager, { viewer, ip }: SignedInContext, name: string, from: string | null, to: string | null): void {
  const entry = { kind: 'package.publisher_changed', actor: viewer, package: name, ip } as const
  if (from !== null) audit(em, { ...entry, publisher: from, summary: `${viewer.displayName} removed ${name} from the publisher ${from}` })
  if (to !== null) audit(em, { ...entry, publisher: to, summary: `${viewer.displayName} transferred ${name} to the publisher ${to}` })
}
