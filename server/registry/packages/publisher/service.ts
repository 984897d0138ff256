import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../../accounts/audit/service.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { insufficientPermissions, invalidInput } from '../../../errors.ts'
import { changePackage, unchanged } from '../changes/change-package.ts'
import { type Package, PackageUploader } from '../entity.ts'
import { canChoosePublisher } from '../policy.ts'
import type { Viewer } from '../../../platform/access/roles.ts'
import { lockPublisher } from '../../publishers/change-publisher.ts'
import type { Publisher } from '../../publishers/entity.ts'
import { isMember } from '../../publishers/policy.ts'

/**
 * Transfers a package to a publisher, or removes it from its publisher. The caller must be an uploader or a server admin, and a member of both the
 * old and the new publisher. Uploaders keep their rights.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput if the package would have neither a publisher nor an uploader.
 */
export function setPackagePublisher(context: SignedInContext, name: string, publisherId: string | null): Promise<Package> {
  return changePackage(
    context,
    name,
    canChoosePublisher,
    async (em, pkg) => {
      const from = pkg.publisher?.id ?? null
      const involved = await lockOwnPublishers(em, context.viewer, [from, publisherId])
      if (publisherId === from) return unchanged(pkg)
      if (publisherId === null && (await em.count(PackageUploader, { package: pkg })) === 0)
        throw invalidInput(`${name} has no uploaders, so it needs a publisher. Add an uploader first.`, 'publisher')
      pkg.publisher = publisherId === null ? null : (involved.get(publisherId) ?? null)
      record(em, context, name, from, publisherId)
      return pkg
    },
    () => `Only uploaders of ${name} and administrators of this server can choose its publisher. Ask one of them.`,
  )
}

/**
 * Returns the publishers with these ids, locked in the order of their ids to avoid deadlocks. Throws InsufficientPermissions unless the caller is a
 * member of each.
 */
async function lockOwnPublishers(em: EntityManager, viewer: Viewer, ids: (string | null)[]): Promise<Map<string, Publisher>> {
  const publishers = new Map<string, Publisher>()
  for (const id of [...new Set(ids)].filter((one) => one !== null).toSorted()) {
    const publisher = await lockPublisher(em, id)
    if (!(await isMember(em, viewer, publisher)))
      throw insufficientPermissions(`You are not a member of the publisher ${id}. Ask one of its admins to add you.`)
    publishers.set(id, publisher)
  }
  return publishers
}

/** Writes one audit entry per publisher, so that the change appears in the history of both. */
function record(em: EntityManager, { viewer, ip }: SignedInContext, name: string, from: string | null, to: string | null): void {
  const entry = { kind: 'package.publisher_changed', actor: viewer, package: name, ip } as const
  if (from !== null) audit(em, { ...entry, publisher: from, summary: `${viewer.displayName} removed ${name} from the publisher ${from}` })
  if (to !== null) audit(em, { ...entry, publisher: to, summary: `${viewer.displayName} transferred ${name} to the publisher ${to}` })
}
