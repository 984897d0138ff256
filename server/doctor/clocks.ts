import type { Check } from './check.ts'

/** Beyond this, people notice: sign-ins and tokens expire too early or too late. */
const noticedMs = 5000
/** Beyond this, S3 services refuse requests or soon will. */
const refusedMs = 5 * 60_000

/** Compares this machine's clock with those of others: by how many milliseconds it is ahead of them, null where that is not known. */
export function clockOf(ahead: Record<string, number | null>): Check[] {
  const known = Object.entries(ahead).flatMap(([of, ms]) => (ms === null ? [] : [{ of, ms }]))
  if (known.length === 0) return []
  const worst = Math.max(...known.map(({ ms }) => Math.abs(ms)))
  const message = known.map(({ of, ms }) => `this machine is ${difference(ms)} the ${of}`).join(', ')
  const check = { name: 'clocks', message: `By its clock, ${message}.` }
  if (worst < noticedMs) return [{ ...check, status: 'ok' }]
  return [{ ...check, status: worst < refusedMs ? 'warning' : 'failed', advice: 'Set the clocks of all machines by NTP.' }]
}

function difference(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 100) / 10
  if (seconds < 1) return 'level with'
  return `${seconds} s ${ms > 0 ? 'ahead of' : 'behind'}`
}
