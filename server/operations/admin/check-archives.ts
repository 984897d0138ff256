import { checkIntegrity, findingsOf } from '../integrity/service.ts'
import { openBlobs } from '../../platform/store/open.ts'
import type { Operation, Outcome } from './command.ts'

/**
 * Verifies all stored archives and saves the report for the console.
 * @returns the message for the operator; `ok` is false when an archive is missing or damaged.
 */
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
