import { verifyChain } from '../audit/verify.ts'
import { invalidInput } from '../errors.ts'
import type { Operation, Outcome } from './command.ts'

/**
 * Compares the audit log with its hash chain, in which a hash of before has to be, if one is given.
 * @returns what to tell the operator; it is not well when an entry was changed, removed or added.
 * @throws ApiError InvalidInput for what is no hash.
 */
export async function verifyAudit({ em }: Operation, given?: string): Promise<Outcome> {
  const known = given?.trim().toLowerCase()
  if (known !== undefined && !/^[0-9a-f]{64}$/.test(known))
    throw invalidInput(`${given} is no hash of the audit log: those have 64 hexadecimal digits.`)
  const verdict = await verifyChain(em, new Date(), known)
  const { entries, deleted, head, unsealed, problems } = verdict
  const young = unsealed > 0 ? ` Not in the chain yet: ${unsealed}; the server adds them within a minute.` : ''
  const gone = deleted > 0 ? ` Deleted before them because of their age: ${deleted}.` : ''
  const ok = problems.length === 0
  const text = ok
    ? `The audit log is as it was written. Entries in the chain: ${entries}${head === null ? '' : `; the hash of the last is ${head}`}.${gone}${young}`
    : [...problems, `Entries in the chain: ${entries}.${gone}${young}`].join('\n')
  return { text, data: verdict, ok }
}
