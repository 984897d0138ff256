import type { EntityManager } from '@mikro-orm/sql'
import { insufficientPermissions } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, insertRows, readRow, readRows } from '../../platform/db/statements.ts'
import { shown } from '../../platform/outbound/texts.ts'
import { nameJob } from './identify.ts'
import { closest, lockToRepository, recordRejection, rules, toRule } from './match.ts'
import { countRefusal } from './verify.ts'
import { type Claims, type JobFacts, type JobUrls, jobUrls } from './presets.ts'
import { type Job, jobOf, type Problem, publishProblem, type Rule } from './rules.ts'

/** The job that published a version. */
export type Provenance = JobFacts & JobUrls & { issuerUrl: string; issuerName: string }

type Published = { name: string; version: string }
type Owner = { id: string; publisher: { id: string } | null }

/** The rule that allows a job to publish a version, and the job. */
export type PublishGrant = { rule: Rule; provenance: Provenance }

/**
 * Returns the rule that allows the calling job to publish a version: into a package, or under a new name if `owner` is null.
 * @throws ApiError InsufficientPermissions with the reason of the rule that is closest to it.
 */
export async function grantPublish(
  em: EntityManager,
  context: SignedInContext,
  published: Published,
  owner: Owner | null,
): Promise<PublishGrant> {
  const found = await findGrant(em, context, published, owner, (rule, job, check) => lockToRepository(em, rule, job, check))
  if ('rule' in found) return found
  throw insufficientPermissions(found.message)
}

/** Checks a publish as `grantPublish` does, before the transaction and without locking the rule. Records a rejection with its rule. */
export async function admitCiJob(context: SignedInContext, published: Published, owner: Owner | null): Promise<void> {
  const found = await findGrant(context.em, context, published, owner, (rule, job, check) => check(rule, job) ?? rule)
  if ('rule' in found) return
  if (found.ruleId === '') countRefusal(context, 'no_rule')
  else await recordRejection(context, found)
  throw insufficientPermissions(found.message)
}

async function findGrant(
  em: EntityManager,
  { viewer }: SignedInContext,
  published: Published,
  owner: Owner | null,
  evaluate: (rule: Rule, job: Job, check: (rule: Rule, job: Job) => Problem | null) => Promise<Rule | Problem> | Rule | Problem,
): Promise<PublishGrant | Problem> {
  const job = await readJob(em, viewer.id)
  if (!job) return { ruleId: '', rank: 0, message: 'The token of this job is no longer accepted.' }
  const publisherId = owner?.publisher?.id ?? null
  const rows = await readRows(
    em,
    rules
      .where('issuer_id', '=', job.issuerId)
      .where((eb) =>
        owner
          ? eb.or([eb('package_id', '=', owner.id), ...(publisherId === null ? [] : [eb('publisher_id', '=', publisherId)])])
          : eb('publisher_id', 'is not', null),
      ),
  )
  const problems: Problem[] = []
  for (const rule of rows.map(toRule)) {
    const granted = await evaluate(rule, job, (current) => publishProblem(current, job, published))
    if (!('message' in granted)) {
      const { issuerUrl, issuerName, facts, claims, preset } = job
      return { rule: granted, provenance: { ...facts, ...jobUrls(preset, issuerUrl, claims), issuerUrl, issuerName } }
    }
    problems.push(granted)
  }
  // For a new name, rules of publishers for other repositories do not concern this job.
  const relevant = owner ? problems : problems.filter(({ rank }) => rank > 0)
  const message = owner
    ? `${published.name} has no trusted publisher for ${nameJob(job)}. Add one on the page of the package.`
    : `${published.name} does not exist, and no trusted publisher allows ${nameJob(job)} to create it.`
  return closest(relevant) ?? { ruleId: '', rank: 0, message }
}

/** Returns a verified job with the id of its issuer, or null. */
async function readJob(em: EntityManager, id: string): Promise<(Job & { issuerId: string; issuerUrl: string }) | null> {
  const row = await readRow(
    em,
    db
      .selectFrom('ci_jobs as j')
      .innerJoin('token_issuers as i', 'i.id', 'j.issuer_id')
      .select(['j.claims', 'i.id', 'i.name', 'i.url', 'i.preset'])
      .where('j.id', '=', id),
  )
  if (!row) return null
  return { ...jobOf(row.preset, row.name, JSON.parse(row.claims) as Claims), issuerId: row.id, issuerUrl: row.url }
}

/** Stores which job published a version, and the use of its rule. */
export async function recordPublish(
  em: EntityManager,
  versionId: string,
  { rule, provenance }: PublishGrant,
  published: Published & { at: Date },
): Promise<void> {
  const { name, version, at } = published
  await insertRows(em, 'version_provenances', [{ version_id: versionId, details: JSON.stringify(provenance) }])
  const use = { last_used_at: at, last_use: shown(`${provenance.repository ?? 'A job'} published ${name} ${version}.`, 500) }
  await changeRows(em, db.updateTable('trusted_publishers').set(use).where('id', '=', rule.id))
}

type Manual = { name: string; publisher: { id: string } | null; manualBan: 'package' | 'publisher' | null }

/** Rejects publishing by a person where only jobs may. Names the switch and who can change it. @throws ApiError InsufficientPermissions */
export function requireManualPublishing({ name, publisher, manualBan }: Manual): void {
  if (manualBan === 'package')
    throw insufficientPermissions(
      `Manual publishing of ${name} is switched off: only CI jobs of its trusted publishers can publish it. Its administrators can switch it on again, in the Admin tab of the package.`,
    )
  if (manualBan === 'publisher')
    throw insufficientPermissions(
      `Manual publishing of ${name} is switched off with that of all packages of the publisher ${publisher?.id}: only CI jobs of trusted publishers can publish them. Admins of ${publisher?.id} can switch it on again, on its page Trusted publishing.`,
    )
}
