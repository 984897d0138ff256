import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

export const sdkKinds = ['dart', 'flutter'] as const
export type SdkKind = (typeof sdkKinds)[number]

export const sdkChannels = ['stable', 'beta', 'dev'] as const
export type SdkChannel = (typeof sdkChannels)[number]

export const installStatuses = ['downloading', 'extracting', 'preparing', 'ready', 'failed'] as const
export type InstallStatus = (typeof installStatuses)[number]

/** An SDK on this server: installed, being installed, or failed. A background job installs it and records its progress in this entity. */
export const SdkInstall = defineEntity({
  name: 'SdkInstall',
  tableName: 'sdk_installs',
  extends: Base,
  uniques: [{ properties: ['kind', 'version', 'channel'] }, { name: 'sdk_installs_default', properties: ['kind'], where: 'is_default' }],
  properties: {
    kind: p.enum(sdkKinds),
    version: p.string().length(64),
    channel: p.enum(sdkChannels),
    /** Operating system and architecture, as in the names of archive files. */
    platform: p.string().length(32),
    status: p.enum(installStatuses).default('downloading'),
    isDefault: p.boolean().default(false),
    /** Number of installation attempts. A job that works for an earlier generation must stop. Each generation has its own folder. */
    generation: p.integer().default(1),
    /** SHA-256 of an archive that was imported from a local file; null for a downloaded archive. */
    importedSha256: p.string().length(64).nullable(),
    bytesDone: p.bigint('number').default(0),
    bytesTotal: p.bigint('number').nullable(),
    /** Last lines of the installation log, separated by line breaks. */
    log: p.text().default('').lazy(),
    errorMessage: p.string().length(1000).nullable(),
    /** User who requested the install. */
    requestedById: p.uuid().nullable(),
    readyAt: p.datetime(3).nullable(),
    sizeBytes: p.bigint('number').nullable(),
    /** Dart version reported by the SDK. */
    dartVersion: p.string().length(64).nullable(),
    /** Version of pana that was activated with this SDK. */
    panaVersion: p.string().length(64).nullable(),
  },
})
export type SdkInstall = InferEntity<typeof SdkInstall>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof SdkInstall> {}
}
