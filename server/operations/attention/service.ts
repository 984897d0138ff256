import { type AttentionCheck, type AttentionItem, type Severity, type Watched } from './items.ts'
import { checkInvitations, checkJobs, checkMirror, checkNames, checkSdks, checkTokens } from './registry-checks.ts'
import { checkAddress, checkArchives, checkBackups, checkComponents, checkDisk, checkSettings } from './server-checks.ts'

/** All checks, the most important ones first. */
const checks: readonly AttentionCheck[] = [
  checkComponents,
  checkDisk,
  checkArchives,
  checkBackups,
  checkJobs,
  checkSdks,
  checkMirror,
  checkNames,
  checkTokens,
  checkAddress,
  checkSettings,
  checkInvitations,
]

const order: readonly Severity[] = ['error', 'warning', 'info']

/** Returns what needs the attention of an administrator, the most urgent first. A check that fails is logged and left out. */
export async function findAttention(watched: Watched): Promise<AttentionItem[]> {
  const found = await Promise.all(
    checks.map((check) =>
      check(watched).catch((error: unknown) => {
        watched.log.warning(`attention: a check failed: ${String(error)}`)
        return []
      }),
    ),
  )
  return found.flat().toSorted((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
}
