import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../../platform/config/config.ts'
import type { Viewer } from '../../platform/access/roles.ts'

/** A change to packages. `deleted` and `versionDeleted` are reported before the rows are removed, `restored` after the rows are back. */
export type PackageChange =
  | { kind: 'changed'; packageId: string }
  | { kind: 'published'; versionId: string; at: Date }
  | { kind: 'visibility'; packages: readonly { id: string; name: string }[] }
  | { kind: 'deleted'; name: string; wasPublic: boolean; freesName: boolean }
  | { kind: 'versionDeleted'; packageId: string; versionId: string }
  | { kind: 'restored'; name: string; packageId: string; versionIds: readonly string[]; at: Date }

declare module '../../services.ts' {
  interface Services {
    afterPackageChange: AfterPackageChange
  }
}

type Changer = { config: Config; viewer: Viewer; now: () => Date; ip: string }

/** Updates what other features derive from packages, in the transaction of the change. They are registered in after-package-change.ts. */
export type AfterPackageChange = (em: EntityManager, change: PackageChange, changer: Changer) => Promise<void>
