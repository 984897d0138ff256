import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

export const sdkKinds = ['dart', 'flutter'] as const
export type SdkKind = (typeof sdkKinds)[number]

export const sdkChannels = ['stable', 'beta', 'dev'] as const
export type SdkChannel = (typeof sdkChannels)[number]

export const installStatuses = ['downloading', 'extracting', 'preparing', 'ready', 'failed'] as const
export type InstallStatus = (typeof installStatuses)[number]

/** An SDK that is installed on the server, or on its way there. A job does the work; what it has reached stands here. */
export const SdkInstall = defineEntity({
  name: 'SdkInstall',
  tableName: 'sdk_installs',
  extends: Base,
  uniques: [{ properties: ['kind', 'version', 'channel'] }, { name: 'sdk_installs_default', properties: ['kind'], where: 'is_default' }],
  properties: {
    kind: p.enum(sdkKinds),
    version: p.string().length(64),
    channel: p.enum(sdkChannels),
    /** Operating system and architecture, as the archives name them. */
    platform: p.string().length(32),
    status: p.enum(installStatuses).default('downloading'),
    isDefault: p.boolean().default(false),
    /** Counts how often it was begun: what works for an earlier one has to end. Each has a folder of its own. */
    generation: p.integer().default(1),
    /** SHA-256 of an archive that was imported from a file; null for one that is downloaded. */
    importedSha256: p.string().length(64).nullable(),
    bytesDone: p.bigint('number').default(0),
    bytesTotal: p.bigint('number').nullable(),
    /** What happened, a line each: the last ones. */
    log: p.text().default('').lazy(),
    errorMessage: p.string().length(1000).nullable(),
    /** Who asked for it. */
    requestedById: p.uuid().nullable(),
    readyAt: p.datetime(3).nullable(),
    sizeBytes: p.bigint('number').nullable(),
    /** The version of Dart in it, as it says itself. */
    dartVersion: p.string().length(64).nullable(),
    /** The version of pana that was made ready with it. */
    panaVersion: p.string().length(64).nullable(),
  },
})
export type SdkInstall = InferEntity<typeof SdkInstall>
