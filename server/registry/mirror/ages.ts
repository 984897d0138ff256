import { z } from 'zod'

/** The age of a version. */
export type Age = {
  /** When the version was published, as an ISO date; null if the upstream server states no usable date. */
  published: string | null
  /** When the age of the version begins, as an ISO date. Missing if it is `published`. */
  ageFrom?: string
}

type Aged = { versions: (Age & { version: string })[] }

/** A date in a document of the upstream server. Other values count as missing. */
export const moment = z.iso.datetime({ offset: true }).nullish().catch(null)

/** What the mirror knew about the versions of a package when it last compared the listing, at `comparedAt`; null for the first listing. */
export type History = { now: Date; comparedAt: Date | null; versions: ReadonlyMap<string, KnownAge> }
export type KnownAge = Partial<Age>

/** Returns the ages of versions in the text of a stored listing, by version. */
export function agesIn(listing: string | null): Map<string, KnownAge> {
  const { versions } = listing === null ? { versions: [] } : (JSON.parse(listing) as Aged)
  return new Map(versions.map((one) => [one.version, one]))
}

/** Returns when the ages of versions begin that do not begin at the stated date, as a text for the row of the listing, which backups contain. */
export const agesText = ({ versions }: Aged): string =>
  JSON.stringify(Object.fromEntries(versions.flatMap(({ version, ageFrom }) => (ageFrom === undefined ? [] : [[version, ageFrom]]))))

/**
 * Returns when a version was published and when its age begins. A version is never older than the last listing without it, and never becomes older
 * by a change of its date. Without a usable date, the age begins when the mirror first sees the version.
 */
export function ageOf(stated: unknown, known: KnownAge | undefined, { now, comparedAt }: History): Age {
  const date = readDate(stated, now)
  const published = date && (moment.safeParse(stated).data ?? date.at.toISOString())
  const from = date && date.latest < now ? date.latest : now
  const begun = known?.ageFrom ?? known?.published
  let start = begun ? new Date(begun) : known ? (date ? from : (comparedAt ?? now)) : later(from, comparedAt ?? from)
  if (begun && date && known?.published !== published) start = later(start, from)
  return { published, ...(start.getTime() !== date?.at.getTime() && { ageFrom: start.toISOString() }) }
}

const later = (a: Date, b: Date): Date => (a > b ? a : b)

/** The forms of ISO 8601 that Dart's `DateTime.toString` and `DateTime.toIso8601String` write and `DateTime.parse` reads. */
const dateForm =
  /^([+-]?\d{4,6})-?(\d\d)-?(\d\d)(?:[ Tt](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?(?<zone> ?[Zz]| ?([+-])(\d\d)(?::?(\d\d))?)?)?$/

/** No package of Dart is older. Earlier dates stand for an unknown one, such as 1970-01-01 and 0001-01-01. */
const firstDate = new Date('2011-01-01T00:00:00Z')
const [hourMs, dayMs] = [3_600_000, 86_400_000]

/**
 * Reads a date of the upstream server: the moment, in UTC if there is no zone, and the latest moment that it can mean: without a zone 12 hours later
 * (UTC-12), and without a time at the end of the day. Returns null if the text is not a date, or one more than a day in the future.
 */
export function readDate(text: unknown, now: Date): { at: Date; latest: Date } | null {
  const found = typeof text === 'string' ? dateForm.exec(text.trim()) : null
  if (!found) return null
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part: string | undefined) => Number(part ?? 0))
  const midnight = new Date(Date.UTC(year, month - 1, day))
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day || hour > 24 || minute > 59 || second > 60) return null
  const [sign, hours, minutes] = [found[9] === '-' ? -1 : 1, Number(found[10] ?? 0), Number(found[11] ?? 0)]
  const millisecond = Math.floor(Number(`0.${found[7] ?? 0}`) * 1000)
  const at = new Date(Date.UTC(year, month - 1, day, hour - sign * hours, minute - sign * minutes, second, millisecond))
  if (!(at >= firstDate && at.getTime() <= now.getTime() + dayMs)) return null
  const unknownMs = found[4] === undefined ? dayMs + 12 * hourMs : found.groups?.zone === undefined ? 12 * hourMs : 0
  return { at, latest: new Date(at.getTime() + unknownMs) }
}
