import { randomBytes } from 'node:crypto'
import { audit } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions, invalidInput, verificationUnavailable } from '../../errors.ts'
import { User } from '../../accounts/users/entity.ts'
import { describeMissingRecord, firstCheckAfter, lookUpRecords, recordHost, recordValue } from './domain-check.ts'
import { DomainCheck, Publisher, PublisherClaim } from './entity.ts'
import { createPublisher, idTaken } from './service.ts'

const claimMs = 24 * 3_600_000

/** The TXT record to add to the DNS, and when the claim expires. */
export type DomainChallenge = { domain: string; host: string; value: string; expiresAt: Date }

/**
 * Starts claiming a domain as a publisher. Repeating an unexpired claim returns the same value and extends it by 24 hours, so that an existing TXT
 * record remains valid.
 * @throws ApiError InsufficientPermissions for a service account; InvalidInput for an invalid domain; Conflict if the publisher exists; RateLimitExceeded.
 */
export async function startVerification(
  { em, viewer, limits, now }: SignedInContext,
  { domain: given, displayName }: { domain: string; displayName: string },
): Promise<DomainChallenge> {
  if (viewer.kind === 'service') throw insufficientPermissions('A service account cannot create a publisher. Claim the domain as a person.')
  const domain = parseDomain(given)
  await limits.use('domainVerification', viewer.id)
  if (await em.count(Publisher, { id: domain })) throw idTaken(domain)
  const expiresAt = new Date(now().getTime() + claimMs)
  return em.fork().transactional(async (inner) => {
    await inner.nativeDelete(PublisherClaim, { expiresAt: { $lte: now() } })
    const fresh = { domain, user: inner.getReference(User, viewer.id), token: randomBytes(20).toString('hex'), displayName, expiresAt }
    const claim = await inner.upsert(PublisherClaim, fresh, { onConflictMergeFields: ['displayName', 'expiresAt'] })
    return challengeOf(await inner.refreshOrFail(claim))
  })
}

/**
 * Verifies the TXT record of a claim and creates the publisher with the caller as its admin.
 * @throws ApiError InvalidInput, naming host and value, if the record is missing; VerificationTemporarilyUnavailable if the resolvers do not answer;
 *   Conflict if the publisher exists; RateLimitExceeded.
 */
export async function completeVerification(context: SignedInContext, given: string): Promise<Publisher> {
  const { em, viewer, limits, now } = context
  const domain = parseDomain(given)
  await limits.use('domainVerification', viewer.id)
  // Read the claim before checking for the publisher: creating a publisher deletes all claims to its domain in the same transaction, and a caller
  // with a deleted claim should get the error that the publisher exists.
  const claim = await em.findOne(PublisherClaim, { domain, user: viewer.id, expiresAt: { $gt: now() } })
  if (await em.count(Publisher, { id: domain })) throw idTaken(domain)
  if (!claim) throw invalidInput(`You have not claimed ${domain} in the last 24 hours. Start the verification again.`)
  await requireRecord(context, challengeOf(claim))
  return createPublisher(context, { id: domain, displayName: claim.displayName, isVerified: true }, async (inner, publisher) => {
    const summary = `${viewer.displayName} verified the domain ${domain}`
    audit(inner, { kind: 'publisher.verified', actor: viewer, publisher: domain, summary, ip: context.ip })
    inner.create(DomainCheck, { publisher, token: claim.token, checkedAt: now(), dueAt: firstCheckAfter(now()) })
    await inner.nativeDelete(PublisherClaim, { domain })
  })
}

async function requireRecord(context: SignedInContext, { domain, host, value }: DomainChallenge): Promise<void> {
  const records = await lookUpRecords(context, domain)
  if (!records) throw verificationUnavailable()
  if (records.includes(value)) return
  throw invalidInput(
    `${describeMissingRecord(records)}. Add a TXT record at ${host} with the value ${value}, wait until it is visible in the DNS, and try again.`,
    'domain',
  )
}

const challengeOf = ({ domain, token, expiresAt }: PublisherClaim): DomainChallenge => ({
  domain,
  host: recordHost(domain),
  value: recordValue(token),
  expiresAt,
})

/** Top-level names without public DNS (RFC 6761, 6762, 7686, 9476), and the tree for reverse lookups. */
const noDns = new Set(['localhost', 'local', 'invalid', 'onion', 'alt', 'arpa'])

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes a domain to the form used as publisher id: lower case, without the trailing dot. Requires at least two labels and rejects
 * internationalized domains, because lookalikes cannot be distinguished. The result is safe to prefix with `_svc-verify.`.
 * @throws ApiError InvalidInput.
 */
function parseDomain(text: string): string {
  const domain = text.trim().toLowerCase().replace(/\.$/, '')
  const labels = domain.split('.')
  // oxlint-disable-next-line no-control-regex -- the range is all of ASCII
  if (!/^[\u0000-\u007f]*$/.test(text) || labels.some((one) => one.startsWith('xn--')))
    throw invalidDomain('must contain only ASCII letters: internationalized domains can be mistaken for others')
  if (domain.length > 64) throw invalidDomain('must be at most 64 characters long')
  if (labels.length < 2 || !labels.every((one) => label.test(one)) || !/^[a-z][a-z0-9-]*$/.test(labels.at(-1) ?? ''))
    throw invalidDomain('must be a domain such as acme.dev, without scheme, port or path')
  if (noDns.has(labels.at(-1) ?? '')) throw invalidDomain(`must be a domain in the public DNS; .${labels.at(-1)} is not`)
  return domain
}

const invalidDomain = (why: string) => invalidInput(`domain: ${why}.`, 'domain')
