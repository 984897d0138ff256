import type { Check } from '../checks/doctor/check.ts'
import { diagnose } from '../checks/doctor/doctor.ts'
import type { Outcome } from './command.ts'
import { counted } from './counted.ts'

/**
 * Runs all diagnostic checks and prints one line per check. `withSettings` also prints the settings, with secrets masked.
 * @returns the message for the operator; `ok` is false when a check failed. Warnings do not affect it.
 */
export async function doctor(environment: NodeJS.ProcessEnv | undefined, { quick = false, withSettings = false } = {}): Promise<Outcome> {
  const { checks, settings } = await diagnose(environment, { quick })
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length
  const [failed, warnings] = [count('failed'), count('warning')]
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.map(
    ({ name, status, message, advice }) =>
      `${status.padEnd(7)}  ${name.padEnd(width)}  ${message}${advice === undefined ? '' : ` ${advice}`}`,
  )
  const summary = `${counted(checks.length, 'checks')}: ${failed} failed, ${counted(warnings, 'warnings')}.`
  return {
    text: [...(withSettings ? [...(settings ?? []), ''] : []), ...lines, summary].join('\n'),
    data: { failed, warnings, checks, settings },
    ok: failed === 0,
  }
}
