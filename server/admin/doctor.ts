import type { Check } from '../doctor/check.ts'
import { diagnose } from '../doctor/doctor.ts'
import type { Outcome } from './command.ts'
import { counted } from './counted.ts'

/**
 * Looks at everything that the server needs, a line each; `withSettings` shows the settings as well, secrets masked.
 * @returns what to tell the operator; it is not well when a check failed, and well with warnings.
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
