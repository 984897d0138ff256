import { z } from 'zod'
import { keptRules } from '../trusted-publishing/kept.ts'
import { documentKinds, dependencyKinds, visibilities } from '../packages/entity.ts'

// What is kept of deleted packages and versions, as JSON. Times are ISO 8601, so that the rows can be moved to another kind of database. Scores,
// documentation and the search index are not kept: they are made again.

const moment = z.iso.datetime().transform((text) => new Date(text))
/** Downloads per day: the day, and their number. */
const downloads = z.array(z.tuple([z.int(), z.int()]))

/** Likes or watches: who, and since when. */
const ofUsers = z.array(z.object({ userId: z.string(), createdAt: moment }))

export const packageData = z.object({
  createdAt: moment,
  revision: z.int(),
  latestVersion: z.string(),
  visibility: z.enum(visibilities),
  isDiscontinued: z.boolean(),
  replacedBy: z.string().nullable(),
  isUnlisted: z.boolean(),
  allowsManualPublishing: z.boolean().default(true),
  trustedPublishers: keptRules.default([]),
  advisoriesUpdated: moment.nullable(),
  publisherId: z.string().nullable(),
  uploaderIds: z.array(z.string()),
  likes: ofUsers,
  watches: ofUsers,
  downloads,
})
export type PackageData = z.output<typeof packageData>
export type KeptPackage = z.input<typeof packageData>

export const versionData = z.object({
  createdAt: moment,
  sortKey: z.string(),
  isPrerelease: z.boolean(),
  retractedAt: moment.nullable(),
  publishedById: z.string().nullable(),
  archiveCrc32c: z.string(),
  pubspec: z.string(),
  license: z.string().nullable(),
  /** The job that published the version, as it is stored. */
  provenance: z.string().nullable().default(null),
  documents: z.array(z.object({ kind: z.enum(documentKinds), path: z.string(), content: z.string() })),
  dependencies: z.array(
    z.object({
      kind: z.enum(dependencyKinds),
      name: z.string(),
      constraint: z.string(),
      hostedUrl: z.string().nullable(),
      sdk: z.string().nullable(),
    }),
  ),
  downloads,
})
export type KeptVersion = z.input<typeof versionData>
