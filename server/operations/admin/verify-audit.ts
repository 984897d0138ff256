import { verifyChain } from '../../accounts/audit/verify.ts'
import { invalidInput } from '../../errors.ts'
import type { Operation, Outcome } from './command.ts'

/**
 * Verifies the audit log against its hash chain. If a hash is given, the chain must contain it.
 * @returns the message for the operator; `ok` is false when an entry was changed, removed or added.
 * @throws ApiError InvalidInput for a malformed hash.
 */
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
