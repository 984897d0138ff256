import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'
import { User } from '../../accounts/users/entity.ts'
import { Base } from '../../platform/db/base.ts'
import { Package, PackageVersion } from '../packages/entity.ts'
import { Publisher } from '../publishers/entity.ts'

/** Kinds of CI systems, which differ in the names and forms of their claims. */
export const issuerPresets = ['github', 'gitlab', 'forgejo', 'buildkite', 'circleci', 'bitbucket', 'google', 'custom'] as const
export type IssuerPreset = (typeof issuerPresets)[number]

/** A CI system whose jobs authenticate with its tokens. */
export const TokenIssuer = defineEntity({
  name: 'TokenIssuer',
  tableName: 'token_issuers',
  extends: Base,
  properties: {
    name: p.string().length(100),
    /** The issuer URL, exactly as in the claim `iss`. */
    url: p.string().length(500).unique(),
    preset: p.enum(issuerPresets),
    /** The public keys of the issuer, as a JSON Web Key Set. */
    keySet: p.text(),
    /** When the keys were last fetched. */
    keysFetchedAt: p.datetime(3),
    /** When the last attempt to fetch keys started. Instances compete for an attempt by changing it. */
    keysTriedAt: p.datetime(3),
    /** Why the last attempt failed; null after a success. */
    keyProblem: p.string().length(500).nullable(),
  },
})
export type TokenIssuer = InferEntity<typeof TokenIssuer>

/** A rule that allows jobs of a CI system to publish a package, or all packages of a publisher. Exactly one of them is set. */
export const TrustedPublisher = defineEntity({
  name: 'TrustedPublisher',
  tableName: 'trusted_publishers',
  extends: Base,
  properties: {
    issuer: () => p.manyToOne(TokenIssuer).deleteRule('cascade').index(),
    package: () => p.manyToOne(Package).nullable().deleteRule('cascade').index(),
    publisher: () => p.manyToOne(Publisher).nullable().deleteRule('cascade').index(),
    createdBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
    label: p.string().length(100),
    /** Repository as the issuer names it, or a pattern with `*`; null for any. */
    repository: p.string().length(255).nullable(),
    workflow: p.string().length(255).nullable(),
    environment: p.string().length(255).nullable(),
    /** Kinds of events that may start a job, separated by commas; empty for any. */
    events: p.string().length(500),
    /** Further claims with their patterns, as a JSON object. */
    claims: p.text(),
    /** Tags that a version can be published from; null for any ref. */
    tagPattern: p.string().length(100).nullable(),
    isReadOnly: p.boolean(),
    /** Ids of the repository and its owner at the first use. They never change, other than names. */
    lockedRepositoryId: p.string().length(255).nullable(),
    lockedOwnerId: p.string().length(255).nullable(),
    lastUsedAt: p.datetime(3).nullable(),
    lastUse: p.string().length(500).nullable(),
    lastRejectedAt: p.datetime(3).nullable(),
    lastRejection: p.string().length(500).nullable(),
  },
})
export type TrustedPublisher = InferEntity<typeof TrustedPublisher>

/** A job of a CI system whose token was verified, until the token expires. Only a hash of the token is stored. */
export const CiJob = defineEntity({
  name: 'CiJob',
  tableName: 'ci_jobs',
  extends: Base,
  properties: {
    /** SHA-256 of the address of the server and the SHA-256 of the token. */
    hash: p.string().length(64).unique(),
    issuer: () => p.manyToOne(TokenIssuer).deleteRule('cascade').index(),
    displayName: p.string().length(400),
    /** The claims of the token, as a JSON object. */
    claims: p.text(),
    expiresAt: p.datetime(3).index(),
  },
})
export type CiJob = InferEntity<typeof CiJob>

/** A rule that allows a job to read packages. Deleted when the rule changes, so that the next request of the job evaluates the rules again. */
export const CiJobRule = defineEntity({
  name: 'CiJobRule',
  tableName: 'ci_job_rules',
  properties: {
    job: () => p.manyToOne(CiJob).deleteRule('cascade').primary(),
    rule: () => p.manyToOne(TrustedPublisher).deleteRule('cascade').primary().index(),
    isReadOnly: p.boolean(),
  },
})

/** The job that published a version. */
export const VersionProvenance = defineEntity({
  name: 'VersionProvenance',
  tableName: 'version_provenances',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    /** A `Provenance` as JSON. */
    details: p.text(),
  },
})

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<
    typeof TokenIssuer | typeof TrustedPublisher | typeof CiJob | typeof CiJobRule | typeof VersionProvenance
  > {}
}
