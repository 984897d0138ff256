import type { EntityManager } from '@mikro-orm/sql'
import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { z } from 'zod'
import { audit } from '../../accounts/audit/service.ts'
import { invalidInput, verificationUnavailable } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { handler } from '../../platform/jobs/handler.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import type { Services } from '../../services.ts'
import { changePublisher, findAndLockPublisher } from './service.ts'
import { DomainCheck, type Publisher } from './entity.ts'
import { canAdministerPublisher } from './policy.ts'

export const domainCheckKind = 'publisher.domain-check'

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 24 * 3_600_000]
/** A publisher loses its verification after this many consecutive misses, ten minutes apart, so that a single wrong DNS answer has no effect. */
const maxMisses = 3
const next = { whenPresent: 7 * dayMs, whenMissed: 10 * minuteMs, whenLost: dayMs, whenUnknown: hourMs }

export const firstCheckAfter = (now: Date): Date => new Date(now.getTime() + next.whenPresent)

/** Enqueues the checks that are due. Safe to run on several instances, because jobs are unique per publisher. */
export async function enqueueDomainChecks({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const moment = now()
  return database.fork().transactional(async (em) => {
    const due = await em.find(DomainCheck, { dueAt: { $lte: moment } }, { orderBy: { dueAt: 'asc' }, limit: 500 })
    for (const { publisher } of due) await enqueue(em, { kind: domainCheckKind, subject: publisher.id }, moment)
    return due.length
  })
}

/** Checks the TXT record of one publisher. If the resolvers fail, the publisher's state is unchanged and the check is repeated in an hour. */
export const domainCheck = ({ database, config, log, now }: Services) =>
  handler(z.object({}), async ({ subject }) => {
    const em = database.fork()
    const askedAt = now()
    if (!(await em.count(DomainCheck, { publisher: subject, dueAt: { $lte: askedAt } }))) return
    const records = await lookUpRecords({ config, log }, subject)
    await em.transactional(async (inner) => {
      const publisher = await findAndLockPublisher(inner, subject)
      const check = publisher && (await inner.findOne(DomainCheck, { publisher: subject }))
      if (!check || isNewer(check, askedAt)) return
      if (records === null) check.dueAt = new Date(askedAt.getTime() + next.whenUnknown)
      else applyLookupResult(inner, publisher, check, { records, askedAt, allowsMisses: true })
    })
  })

/**
 * Checks the TXT record immediately. Requires an admin of the publisher.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput for a publisher without a domain; VerificationTemporarilyUnavailable if the
 *   resolvers do not answer; RateLimitExceeded.
 */
export async function checkDomainNow(context: SignedInContext, id: string): Promise<Publisher> {
  const { viewer, limits, now, ip } = context
  const isKept = await changePublisher(context, id, canAdministerPublisher, (inner) => inner.count(DomainCheck, { publisher: id }))
  if (!isKept) throw invalidInput(`The publisher ${id} is not verified by a domain.`, 'id')
  await limits.use('domainVerification', viewer.id)
  const askedAt = now()
  const records = await lookUpRecords(context, id)
  if (!records) throw verificationUnavailable()
  return changePublisher(context, id, canAdministerPublisher, async (inner, publisher) => {
    const check = await inner.findOne(DomainCheck, { publisher: id })
    if (check && !isNewer(check, askedAt))
      applyLookupResult(inner, publisher, check, { records, askedAt, allowsMisses: false, by: { ...viewer, ip } })
    return publisher
  })
}

/** Loads the state of a publisher's TXT record by publisher id; null for publishers without a domain. */
export const loadDomainCheck = batched(async (em, ids) => {
  const rows = await em.find(DomainCheck, { publisher: { $in: ids } })
  return new Map(rows.map((row) => [row.publisher.id, row]))
})

/** Whether the stored result is newer than a lookup started at `askedAt`. Older results must not overwrite newer ones. */
const isNewer = ({ checkedAt }: DomainCheck, askedAt: Date): boolean => checkedAt != null && checkedAt > askedAt

type LookupResult = {
  records: readonly string[]
  askedAt: Date
  /** Whether a missing record is rechecked before the publisher loses its verification. */
  allowsMisses: boolean
  by?: { id: string; displayName: string; ip: string }
}

function applyLookupResult(
  em: EntityManager,
  publisher: Publisher,
  check: DomainCheck,
  { records, askedAt, allowsMisses, by }: LookupResult,
): void {
  const after = (ms: number) => new Date(askedAt.getTime() + ms)
  const record = (kind: 'publisher.verified' | 'publisher.updated', summary: string) =>
    audit(em, { kind, actor: by ?? null, publisher: publisher.id, summary, ip: by?.ip ?? null })
  const found = records.find((one) => (check.token ? one === recordValue(check.token) : recordValuePattern.test(one)))
  check.checkedAt = askedAt
  if (found !== undefined) {
    em.assign(check, { token: found.slice(found.indexOf('=') + 1), misses: 0, lostAt: null, problem: null, dueAt: after(next.whenPresent) })
    if (!publisher.isVerified) record('publisher.verified', `The TXT record of ${publisher.id} is there again: the publisher is verified`)
    publisher.isVerified = true
    return
  }
  check.misses += 1
  if (publisher.isVerified && allowsMisses && check.misses < maxMisses) {
    check.dueAt = after(next.whenMissed)
    return
  }
  check.token ??= randomBytes(20).toString('hex')
  check.dueAt = after(next.whenLost)
  check.problem = `${describeMissingRecord(records)}: ${recordHost(publisher.id)} must have the value ${recordValue(check.token)}.`
  if (!publisher.isVerified) return
  check.lostAt = askedAt
  publisher.isVerified = false
  record('publisher.updated', `The TXT record of ${publisher.id} is gone: the publisher is no longer verified`)
}

/** Returns the name of the TXT record that proves control of a domain. */
export const recordHost = (domain: string): string => `_svc-verify.${domain}`

/** Returns the expected value of the TXT record. The value is public in the DNS and not secret. */
export const recordValue = (token: string): string => `svc-verify=${token}`

const recordValuePattern = /^svc-verify=[0-9a-f]{40}$/

/**
 * Returns the TXT records at the verification name of a domain, each with its strings concatenated (RFC 7208, section 3.3). Queries only the
 * configured resolvers and only TXT records; never connects to an address. Returns null and logs the reason if the resolvers fail, reject or time out.
 */
export async function lookUpRecords({ config, log }: Pick<Services, 'config' | 'log'>, domain: string): Promise<string[] | null> {
  const resolver = new Resolver({ timeout: Math.ceil(lookUpMs / 3), tries: 2 })
  if (config.DNS_SERVERS.length) resolver.setServers(config.DNS_SERVERS)
  const giveUp = setTimeout(() => resolver.cancel(), lookUpMs)
  const host = recordHost(domain)
  try {
    return (await resolver.resolveTxt(host)).map((strings) => strings.join(''))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    // These codes confirm that the record does not exist: NXDOMAIN, and a name without TXT records.
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    log.warning(`The DNS look-up for the domain ${domain} failed: TXT ${host}: ${code}`)
    return null
  } finally {
    clearTimeout(giveUp)
  }
}

const lookUpMs = 5000

/** Returns the beginning of a message about a missing verification record. */
export const describeMissingRecord = (records: readonly string[]): string =>
  records.length ? 'There are other TXT records, but not the expected one' : 'There is no TXT record'
