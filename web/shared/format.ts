const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'short' })
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const plain = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** Formats a relative time: "3 days ago", "in 2 months", or "just now" for less than a minute in either direction. */
export function relativeTime(moment: Date, now = new Date()): string {
  const seconds = (moment.getTime() - now.getTime()) / 1000
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  if (unit === 'second') return 'just now'
  // Weeks, months, years and future times are rounded, so that an expiry in a week shows 7 days, not 6. Past minutes, hours and days are truncated.
  const round = size > 86_400 || seconds > 0 ? Math.round : Math.trunc
  const amount = round(seconds / size)
  return unit === 'minute' && amount === 60 ? relative.format(1, 'hour') : relative.format(amount, unit)
}

/** Formats a date and time in the browser's time zone: "January 31, 2026 at 12:00 PM". */
export const absoluteTime = (moment: Date) => absolute.format(moment)

/** Formats a date: "Jan 31, 2026". */
export const dayOf = (moment: Date) => day.format(moment)

/** Formats a number with thousands separators: "12,345". */
export const count = (amount: number) => plain.format(amount)

/** Formats a count with its noun: "1 package", "2 packages". */
export const counted = (amount: number, noun: string, plural = `${noun}s`) => `${count(amount)} ${amount === 1 ? noun : plural}`

/** Formats a size in bytes with SI units (powers of 1,000): "812 B", "4.2 kB", "1.3 MB". */
export function bytes(amount: number): string {
  const names = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(names.length - 1, Math.floor(Math.log10(Math.max(1, amount)) / 3))
  return `${short.format(amount / 1000 ** power)} ${names[power]}`
}

/** Formats a duration in seconds: "45 s", "4:05 min". */
export const duration = (seconds: number) =>
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`

/** Returns the moment after this number of days from now. */
export const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
