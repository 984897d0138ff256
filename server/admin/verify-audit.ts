import { verifyChain } from '../audit/verify.ts'
import { conflict } from '../errors.ts'
import type { Operation } from './commands.ts'

/**
 * Compares the audit log with its hash chain, in which a hash of before has to be, if one is given.
 * @returns what to tell the operator.
 * @throws ApiError Conflict, with what was found, when an entry was changed, removed or added.
 */
export async function verifyAudit({ em }: Operation, known?: string): Promise<string> {
  const { entries, head, unsealed, problems } = await verifyChain(em, new Date(), known?.trim().toLowerCase())
  const young = unsealed > 0 ? ` Not in the chain yet: ${unsealed}; the server adds them within a minute.` : ''
  if (problems.length > 0) throw conflict([...problems, `Entries in the chain: ${entries}.${young}`].join('\n'))
  return `The audit log is as it was written. Entries in the chain: ${entries}${head === null ? '' : `; the hash of the last is ${head}`}.${young}`
}
