import type { Check } from '../checks/doctor/check.ts'
import { diagnose } from '../checks/doctor/doctor.ts'
import { type Outcome, counted, type Operation } from './command.ts'
import { checkIntegrity, findingsOf } from '../integrity/service.ts'
import { openBlobs, openStores } from '../../platform/store/open.ts'
import type { Report } from '../backup/place/place.ts'
import { showProgress } from './progress-line.ts'
import { verifyBackups } from '../backup/verify/backups.ts'
import { verifyPlace } from '../backup/verify/server.ts'
import type { Verified } from '../backup/verify/findings.ts'
import type { Config } from '../../platform/config/config.ts'
import { openUnlocked } from '../../platform/db/open/orm.ts'
import { verifyChain } from '../../accounts/audit/verify.ts'
import { invalidInput } from '../../errors.ts'

/** Prints one line per check, and with `withSettings` the settings, with secrets masked. Warnings do not make it fail. */
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

/** Verifies all stored archives and saves the report for the console. `ok` is false when an archive is missing or damaged. */
export async function checkArchives({ em, config }: Operation): Promise<Outcome> {
  const blobs = await openBlobs(config)
  const report = await checkIntegrity({ em, blobs, now: () => new Date() })
  const { archives, missing, damaged, orphans } = report
  const findings = findingsOf(report)
  const lines = findings.map(({ kind, package: name, version, sha256 }) => `${kind}: ${name ? `${name} ${version} ` : ''}${sha256}`)
  const summary = `${archives} archives checked: ${missing} missing, ${damaged} damaged. ${orphans} orphaned.`
  const data = { archives, missing, damaged, orphans, findings }
  return { text: [...lines, summary].join('\n'), data, ok: missing + damaged === 0 }
}

/** Verifies the backups at a place, or all data of this server. Throws NotFound for a place without backups. */
export async function verify(config: Config, place?: string): Promise<Outcome> {
  const progress = showProgress()
  const verified = await (
    place === undefined ? verifyServer(config, progress.update) : verifyBackups(config, place, progress.update)
  ).finally(() => progress.end())
  return { text: describeVerified(verified), data: verified, ok: verified.problems.length === 0 }
}

async function verifyServer(config: Config, report: Report): Promise<Verified> {
  const orm = await openUnlocked(config)
  try {
    return await verifyPlace({ em: orm.em.fork(), config, stores: await openStores(config) }, report)
  } finally {
    await orm.close(true)
  }
}

function describeVerified({ checked, problems }: Verified): string {
  const lines = problems.map(({ where, problem }) => `${where}: ${problem}`)
  const counts = Object.entries(checked).map(([what, count]) => counted(count, what))
  return [
    ...lines,
    `Verified ${counts.join(', ')}: ${problems.length === 0 ? 'no problems found' : counted(problems.length, 'problems')}.`,
  ].join('\n')
}

/** Verifies the audit log against its hash chain, which must contain `given`. Throws InvalidInput for a malformed hash. */
export async function verifyAudit({ em }: Operation, given?: string): Promise<Outcome> {
  const known = given?.trim().toLowerCase()
  if (known !== undefined && !/^[0-9a-f]{64}$/.test(known))
    throw invalidInput(`${given} is not a valid hash. A hash has 64 hexadecimal digits.`)
  const verdict = await verifyChain(em, new Date(), known)
  const { entries, deleted, head, unsealed, problems } = verdict
  const young = unsealed > 0 ? ` Not yet in the chain: ${unsealed}; the server adds them within a minute.` : ''
  const gone = deleted > 0 ? ` Deleted by retention: ${deleted}.` : ''
  const ok = problems.length === 0
  const text = ok
    ? `The audit log is unchanged. Entries in the chain: ${entries}${head === null ? '' : `; the last hash is ${head}`}.${gone}${young}`
    : [...problems, `Entries in the chain: ${entries}.${gone}${young}`].join('\n')
  return { text, data: verdict, ok }
}
