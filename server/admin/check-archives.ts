import { conflict } from '../errors.ts'
import { checkIntegrity, findingsOf } from '../integrity/service.ts'
import { openBlobs } from '../store/open.ts'
import type { Operation } from './commands.ts'

/**
 * Reads all stored archives; the report is kept for the console, too.
 * @returns what to tell the operator.
 * @throws ApiError Conflict, with what was found, when an archive is missing or damaged.
 */
export async function checkArchives({ em, config }: Operation): Promise<string> {
  const blobs = await openBlobs(config)
  const report = await checkIntegrity({ em, blobs, now: () => new Date() })
  const { archives, missing, damaged, orphans } = report
  const lines = findingsOf(report).map(
    ({ kind, package: name, version, sha256 }) => `${kind}: ${name ? `${name} ${version} ` : ''}${sha256}`,
  )
  const summary = `${archives} archives read: ${missing} missing, ${damaged} damaged. ${orphans} stored that no version names.`
  const text = [...lines, summary].join('\n')
  if (missing + damaged > 0) throw conflict(text)
  return text
}
