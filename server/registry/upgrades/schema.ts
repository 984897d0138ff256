import { wordEnum } from '../../platform/graphql/payload.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { PackageRef, PackageVersionRef } from '../packages/refs.ts'
import { VerdictRef } from '../mirror/catalog/refs.ts'
import type { Reason } from './lock-file.ts'
import { checkMirrored, type LaterVersion, type LockState, maxMirrored, type MirrorCheck, type MirrorLocked } from './mirror-check.ts'
import { type CheckedPackage, checkUpgrades, maxPackages, type UpgradeCheck, type UpgradeState } from './service.ts'

/** Maximum length of a pubspec.lock in characters. */
export const maxLength = 256 * 1024

const StateEnum = builder.enumType('UpgradeState', {
  description: 'How the version of a package in a lock file relates to its latest version.',
  values: {
    BEHIND: { value: 'behind', description: 'There is a later version.' },
    CURRENT: { value: 'current', description: 'It is the latest version, or later.' },
    UNKNOWN: { value: 'unknown', description: 'The package or the version does not exist on this server, or you cannot see it.' },
  } satisfies Record<Uppercase<UpgradeState>, { value: UpgradeState; description: string }>,
})

const ReasonEnum = builder.enumType('LockedReason', {
  description: 'Why a package is in a lock file.',
  values: {
    DIRECT: { value: 'direct', description: 'A dependency of the application.' },
    DEV: { value: 'dev', description: 'A dev dependency of the application.' },
    OVERRIDDEN: { value: 'overridden', description: 'A dependency override of the application.' },
    TRANSITIVE: { value: 'transitive', description: 'Another package depends on it.' },
  } satisfies Record<Uppercase<Reason>, { value: Reason; description: string }>,
})

export const LockedRef = builder.objectRef<CheckedPackage>('LockedPackage').implement({
  description: 'A package of this registry in a lock file.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    version: t.expose('version', { type: 'SemVer', description: 'The version in the lock file.' }),
    reason: t.expose('reason', { type: ReasonEnum, description: 'Why it is in the lock file.' }),
    state: t.expose('state', { type: StateEnum, description: 'How the version relates to the latest one.' }),
    package: t.expose('package', { type: PackageRef, nullable: true, description: 'The package; null if you cannot see it.' }),
    locked: t.expose('locked', {
      type: PackageVersionRef,
      nullable: true,
      description: 'The version in the lock file; null if you cannot see it. Its `advisories` affect the application.',
    }),
    latest: t.expose('latest', {
      type: PackageVersionRef,
      nullable: true,
      description:
        'The latest version; null if you can see none. Its `apiChanges` and `comparison` from `version` show what an upgrade changes.',
    }),
  }),
})

export const CheckRef = builder.objectRef<UpgradeCheck>('UpgradeCheck').implement({
  description: 'The packages of a lock file, compared with the latest versions on this server.',
  fields: (t) => ({
    packages: t.field({
      type: [LockedRef],
      extensions: { size: 30 },
      description: 'Packages of this server: those with a later version first, then by name.',
      resolve: ({ packages }) => packages,
    }),
    elsewhere: t.exposeInt('elsewhere', { description: 'Number of packages of other registries.' }),
    otherSources: t.exposeInt('otherSources', { description: 'Number of packages from an SDK, a Git repository or a path.' }),
  }),
})

builder.queryField('upgradeCheck', (t) =>
  t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    extensions: { cost: 20 },
    type: CheckRef,
    description: `Checks which packages of a pubspec.lock have a later version on this server, at most ${maxPackages}. The text is not stored.`,
    args: {
      lock: t.arg.string({ required: true, description: 'Content of the pubspec.lock.', extensions: { maxLength } }),
    },
    resolve: (_root, { lock }, context) => checkUpgrades(context, lock),
  }),
)

const MirrorState = wordEnum<LockState>('MirrorLockState', 'What clients get of a version in a lock file from the mirror.', {
  refused: 'It cannot be downloaded.',
  retracted: 'It is marked as retracted: new resolutions do not choose it, and lock files that have it keep working.',
  unknown: 'It is not known whether a policy applies, or there is no such version.',
  allowed: 'No policy holds it back.',
})

const LaterRef = builder.objectRef<LaterVersion>('MirrorLaterVersion').implement({
  description: 'A version later than that of a lock file, which a policy of the mirror holds back.',
  fields: (t) => ({
    version: t.expose('version', { type: 'SemVer', description: 'The version.' }),
    verdicts: t.expose('verdicts', { type: [VerdictRef], extensions: { size: 1 }, description: 'The policies that hold it back.' }),
  }),
})

const MirrorLockedRef = builder.objectRef<MirrorLocked>('MirrorLockedPackage').implement({
  description: 'A package of the upstream server in a lock file.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the package.' }),
    version: t.expose('version', { type: 'SemVer', description: 'The version in the lock file.' }),
    reason: t.expose('reason', { type: ReasonEnum, description: 'Why it is in the lock file.' }),
    state: t.expose('state', { type: MirrorState, description: 'What clients get of the version.' }),
    verdicts: t.expose('verdicts', {
      type: [VerdictRef],
      extensions: { size: 1 },
      description: 'The policies that hold the version back.',
    }),
    message: t.exposeString('message', { nullable: true, description: 'Why the version is unknown, or refused without a policy.' }),
    later: t.expose('later', {
      type: LaterRef,
      nullable: true,
      description: 'The highest version, if it is later and a policy holds it back.',
    }),
  }),
})

const MirrorCheckRef = builder.objectRef<MirrorCheck>('MirrorCheck').implement({
  description: 'The packages of the upstream server in a lock file, judged by the policies of the mirror.',
  fields: (t) => ({
    packages: t.field({
      type: [MirrorLockedRef],
      extensions: { size: 100 },
      description: 'Packages whose URL is that of the mirror or of the upstream server: held back ones first, then by name.',
      resolve: ({ packages }) => packages,
    }),
    elsewhere: t.exposeInt('elsewhere', { description: 'Number of packages of other registries, including this one.' }),
    otherSources: t.exposeInt('otherSources', { description: 'Number of packages from an SDK, a Git repository or a path.' }),
  }),
})

builder.queryField('mirrorCheck', (t) =>
  t.field({
    skipTypeScopes: true,
    extensions: { cost: 50 },
    type: MirrorCheckRef,
    description: `Checks which packages of a pubspec.lock a policy of the mirror holds back, at most ${maxMirrored}. For callers who may read the mirror. The text is not stored.`,
    args: {
      lock: t.arg.string({ required: true, description: 'Content of the pubspec.lock.', extensions: { maxLength } }),
    },
    resolve: (_root, { lock }, context) => checkMirrored(context, lock),
  }),
)
