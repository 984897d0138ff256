import { createHash } from 'node:crypto'
import { z } from 'zod'
import { archiveUrl } from './package-name.ts'

// The listing of a package in pub's protocol, as this server sends it for its own packages and for those of the mirror.

/** Media type of pub's protocol, without parameters. */
export const pubJson = 'application/vnd.pub.v2+json'

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

/** A version in a listing of the mirror, of which the upstream server may state less. */
export const mirroredEntrySchema = entrySchema.partial({ archive_sha256: true, published: true })

export const listingSchema = (entry: typeof entrySchema | typeof mirroredEntrySchema) =>
  z.object({
    name: z.string(),
    advisoriesUpdated: z.iso.datetime().optional().describe('Omitted if the package never had a security advisory.'),
    isDiscontinued: always,
    replacedBy: z.string().optional(),
    latest: entry.optional().describe('Omitted if all versions are retracted.'),
    versions: z.array(entry),
  })

/** A version of a package. `pubspec` is JSON. */
type Entry = { version: string; retracted: boolean; sha256: string | null; pubspec: string; published: string | null }

/** Returns a version as listings show it, as JSON text. Optional members are omitted: clients reject a listing with null in them. */
export function writeEntry({ version, retracted, sha256, pubspec, published }: Entry, name: string, hostedUrl: string): string {
  const hash = sha256 === null ? '' : `"archive_sha256":"${sha256}",`
  const date = published === null ? '' : `,"published":"${published}"`
  const url = JSON.stringify(archiveUrl(hostedUrl, name, version))
  return `{"version":"${version}",${retracted ? '"retracted":true,' : ''}"archive_url":${url},${hash}"pubspec":${pubspec}${date}}`
}

type Options = { name: string; isDiscontinued: boolean; replacedBy: string | null; advisoriesUpdated: string | null }

/** Returns a listing as JSON text. `latest` is one of the entries, or undefined if all versions are retracted. */
export function writeListing(options: Options, entries: readonly string[], latest: string | undefined): string {
  const { name, isDiscontinued, replacedBy, advisoriesUpdated } = options
  const members = [
    `"name":${JSON.stringify(name)}`,
    ...(advisoriesUpdated === null ? [] : [`"advisoriesUpdated":"${advisoriesUpdated}"`]),
    ...(isDiscontinued ? ['"isDiscontinued":true'] : []),
    ...(isDiscontinued && replacedBy !== null ? [`"replacedBy":${JSON.stringify(replacedBy)}`] : []),
    ...(latest === undefined ? [] : [`"latest":${latest}`]),
    `"versions":[${entries.join(',')}]`,
  ]
  return `{${members.join(',')}}`
}

/** Returns the ETag of a listing. It is weak because the compressed and uncompressed forms share it. */
export const listingEtag = (text: string): string => `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
