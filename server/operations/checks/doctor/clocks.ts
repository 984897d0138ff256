import type { Check } from './check.ts'

/** Above this difference, users notice: sign-ins and tokens expire too early or too late. */
const noticedMs = 5000
/** Above this difference, S3 services reject requests or soon will. */
const refusedMs = 5 * 60_000

/** Checks this machine's clock against others. Values are the milliseconds by which this machine is ahead; null if unknown. */
export function clockOf(ahead: Record<string, number | null>): Check[] {
  const known = Object.entries(ahead).flatMap(([of, ms]) => (ms === null ? [] : [{ of, ms }]))
  if (known.length === 0) return []
  const worst = Math.max(...known.map(({ ms }) => Math.abs(ms)))
  const message = known.map(({ of, ms }) => `this machine is ${difference(ms)} the ${of}`).join(', ')
  const check = { name: 'clocks', message: `Clock comparison: ${message}.` }
  if (worst < noticedMs) return [{ ...check, status: 'ok' }]
  return [{ ...check, status: worst < refusedMs ? 'warning' : 'failed', advice: 'Synchronize the clocks of all machines with NTP.' }]
}

function difference(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 100) / 10
  if (seconds < 1) return 'in sync with'
  return `${seconds} s ${ms > 0 ? 'ahead of' : 'behind'}`
}
