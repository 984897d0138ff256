import { z } from 'zod'

const always = z.literal(true).optional()

/** A version in a listing. Optional members are omitted, never null. */
export const entrySchema = z.object({
  version: z.string(),
  retracted: always,
  archive_url: z.url(),
  archive_sha256: z.string(),
  pubspec: z.looseObject({ name: z.string(), version: z.string() }).describe('The pubspec.yaml as JSON.'),
  published: z.iso.datetime(),
})

/** The listing of a package. */
export const listingSchema = z.object({
  name: z.string(),
  advisoriesUpdated: z.iso.datetime().optional().describe('Omitted if the package never had a security advisory.'),
  isDiscontinued: always,
  replacedBy: z.string().optional(),
  latest: entrySchema.optional().describe('Omitted if all versions are retracted.'),
  versions: z.array(entrySchema),
})
