import { describe, expect, it } from 'vitest'
import {
  entrySchema,
  listingEtag,
  listingSchema,
  mirroredEntrySchema,
  writeEntry,
  writeListing,
} from '../../../server/platform/pub/listing.ts'

const version = {
  version: '1.2.0-dev.1+2',
  retracted: false,
  sha256: 'a'.repeat(64),
  pubspec: JSON.stringify({ name: 'colors', version: '1.2.0-dev.1+2', description: 'Größe "in" Pixeln\n\u2028' }),
  published: '2026-01-02T03:04:05.678Z',
}
const url = 'https://pub.example.com/base'
const options = { name: 'colors', isDiscontinued: false, replacedBy: null, advisoriesUpdated: null }

describe('an entry', () => {
  it.each([
    { change: {}, members: ['version', 'archive_url', 'archive_sha256', 'pubspec', 'published'], isComplete: true },
    {
      change: { retracted: true },
      members: ['version', 'retracted', 'archive_url', 'archive_sha256', 'pubspec', 'published'],
      isComplete: true,
    },
    { change: { sha256: null }, members: ['version', 'archive_url', 'pubspec', 'published'], isComplete: false },
    { change: { published: null }, members: ['version', 'archive_url', 'archive_sha256', 'pubspec'], isComplete: false },
    {
      change: { sha256: null, published: null, retracted: true },
      members: ['version', 'retracted', 'archive_url', 'pubspec'],
      isComplete: false,
    },
  ])('with $change has the members $members, and no null', ({ change, members, isComplete }) => {
    const entry: unknown = JSON.parse(writeEntry({ ...version, ...change }, 'colors', url))
    expect(Object.keys(Object(entry))).toEqual(members)
    expect(entry).toMatchObject({
      archive_url: 'https://pub.example.com/base/api/archives/colors-1.2.0-dev.1+2.tar.gz',
      pubspec: JSON.parse(version.pubspec),
    })
    expect(mirroredEntrySchema.strict().safeParse(entry).success).toBe(true)
    expect(entrySchema.strict().safeParse(entry).success).toBe(isComplete)
  })
})

describe('a listing', () => {
  const entry = writeEntry(version, 'colors', url)

  it.each([
    { change: {}, latest: entry, members: ['name', 'latest', 'versions'] },
    { change: {}, latest: undefined, members: ['name', 'versions'] },
    {
      change: { advisoriesUpdated: '2026-01-02T03:04:05.678Z' },
      latest: entry,
      members: ['name', 'advisoriesUpdated', 'latest', 'versions'],
    },
    { change: { isDiscontinued: true }, latest: entry, members: ['name', 'isDiscontinued', 'latest', 'versions'] },
    { change: { replacedBy: 'paint' }, latest: entry, members: ['name', 'latest', 'versions'] },
    {
      change: { isDiscontinued: true, replacedBy: 'paint' },
      latest: entry,
      members: ['name', 'isDiscontinued', 'replacedBy', 'latest', 'versions'],
    },
  ])('with $change has the members $members', ({ change, latest, members }) => {
    const listing: unknown = JSON.parse(writeListing({ ...options, ...change }, [entry, entry], latest))
    expect(Object.keys(Object(listing))).toEqual(members)
    expect(listing).toMatchObject({ versions: [JSON.parse(entry), JSON.parse(entry)] })
    for (const schema of [entrySchema, mirroredEntrySchema]) expect(listingSchema(schema).strict().safeParse(listing).success).toBe(true)
  })

  it('has a weak ETag of its text', () => {
    const text = writeListing(options, [entry], entry)
    expect(listingEtag(text)).toMatch(/^W\/"[\w-]{22}"$/)
    expect(listingEtag(text)).toBe(listingEtag(writeListing(options, [entry], entry)))
    expect(listingEtag(text)).not.toBe(listingEtag(writeListing(options, [entry], undefined)))
  })
})
