import { checkIntegrity, findingsOf } from '../integrity/service.ts'
import { openBlobs } from '../store/open.ts'
import type { Operation, Outcome } from './command.ts'

/**
 * Reads all stored archives; the report is kept for the console, too.
 * @returns what to tell the operator; it is not well when an archive is missing or damaged.
 */
export async function checkArchives({ em, config }: Operation): Promise<Outcome> {
  const blobs = await openBlobs(config)
  const report = await checkIntegrity({ em, blobs, now: () => new Date() })
  const { archives, missing, damaged, orphans } = report
  const findings = findingsOf(report)
  const lines = findings.map(({ kind, package: name, version, sha256 }) => `${kind}: ${name ? `${name} ${version} ` : ''}${sha256}`)
  const summary = `${archives} archives read: ${missing} missing, ${damaged} damaged. ${orphans} stored that no version names.`
  const data = { archives, missing, damaged, orphans, findings }
  return { text: [...lines, summary].join('\n'), data, ok: missing + damaged === 0 }
}
