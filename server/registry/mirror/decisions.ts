import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { LRUCache } from 'lru-cache'
import { createHash } from 'node:crypto'
import { insufficientPermissions } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, containing, readRows } from '../../platform/db/statements.ts'
import { isMomentKey, momentKey, type PageArguments, pageByKey, readMomentKey } from '../../platform/graphql/connections.ts'
import type { Services } from '../../services.ts'
import type { MirrorServices } from './entries.ts'
import { MirrorDecision } from './entity.ts'
import type { Verdict } from './policies/evaluate.ts'
import { rejectingVerdict } from './render.ts'

export type Outcome = MirrorDecision['outcome']

/** A decision, which is identified by these fields. */
export type Decision = {
  outcome: Outcome
  /** The policy, or the kind of fault. */
  rule: string
  packageName: string
  /** Empty if the decision concerns the whole package. */
  version: string
  reason: string
  /** Who requested it; null for callers who are not signed in, and for faults. */
  userId: string | null
}

type Counted = Decision & { count: number; lastAt: Date }

declare module '../../services.ts' {
  interface State {
    /** Decisions of the mirror that are not yet in the database, by their fields. */
    mirrorDecisions?: Map<string, Counted>
    /** Faults of the upstream server that this process has reported. */
    reportedFaults?: LRUCache<string, true>
    /** Number of decisions of this process by rule and outcome, separated by a space. */
    mirrorDecisionCounts?: Map<string, number>
  }
}

/** Maximum number of different decisions in memory. Further ones are not recorded until these are saved, which happens every few seconds. */
const maxInMemory = 5000

/** Counts a decision in memory; `saveDecisions` writes the counts to the database. */
export function countDecision({ state, now }: Pick<Services, 'state' | 'now'>, decision: Decision): void {
  const counts = (state.mirrorDecisionCounts ??= new Map<string, number>())
  const series = `${decision.rule} ${decision.outcome}`
  counts.set(series, (counts.get(series) ?? 0) + 1)
  add((state.mirrorDecisions ??= new Map<string, Counted>()), {
    outcome: decision.outcome,
    rule: storable(decision.rule, 32),
    packageName: storable(decision.packageName, 64),
    version: storable(decision.version, 64),
    reason: storable(decision.reason, 500),
    userId: decision.userId,
    count: 1,
    lastAt: now(),
  })
}

/** Something unusable that the upstream server sent. `version` is empty if it concerns the whole package. */
export type UpstreamFault = { version: string; rule: string; reason: string }

/** Reports faults of the upstream server, each once: in the log and for administrators. */
export function reportFaults(services: Pick<Services, 'log' | 'now' | 'state'>, name: string, faults: readonly UpstreamFault[]): void {
  const reported = (services.state.reportedFaults ??= new LRUCache<string, true>({ max: 1000 }))
  for (const { version, rule, reason } of faults) {
    countDecision(services, { outcome: 'fault', rule, packageName: name, version, reason, userId: null })
    if (reported.has(reason)) continue
    reported.set(reason, true)
    services.log.warning(`mirror: ${reason}`)
  }
}

/** Shortens a text to its column and replaces control characters, of which PostgreSQL stores no NUL. Faults quote the upstream server. */
const storable = (text: string, length: number): string => text.slice(0, length).replace(/\p{Cc}/gu, ' ')

function add(decisions: Map<string, Counted>, counted: Counted): void {
  const key = JSON.stringify(identityOf(counted))
  const known = decisions.get(key)
  if (known) {
    known.count += counted.count
    if (counted.lastAt > known.lastAt) known.lastAt = counted.lastAt
  } else if (decisions.size < maxInMemory) decisions.set(key, counted)
}

/** Returns the fields that identify a decision, in the order of their columns. */
const identityOf = ({ outcome, rule, packageName, version, reason, userId }: Decision) => [
  outcome,
  rule,
  packageName,
  version,
  reason,
  userId,
]

/**
 * Writes the decisions counted since the last call in one transaction. Called every few seconds and at shutdown. Counts of several instances are added.
 * If the write fails, the counts are kept for the next call.
 */
export async function saveDecisions({ database, state }: Pick<MirrorServices, 'database' | 'state'>): Promise<void> {
  const decisions = state.mirrorDecisions
  if (!decisions || decisions.size === 0) return
  const counted = [...decisions.values()]
  decisions.clear()
  try {
    await database.fork().transactional((em) => write(em, counted))
  } catch (error) {
    for (const one of counted) add(decisions, one)
    throw error
  }
}

const rowsPerStatement = 50
/** Counts stop here, because the column has 32 bits. */
const maxCount = 1_000_000_000

/** Adds counts to the database. Decisions about users whose account was deleted are dropped. All instances write in the same order to avoid deadlocks. */
async function write(em: EntityManager, counted: readonly Counted[]): Promise<void> {
  const known = await knownUsers(em, new Set(counted.flatMap(({ userId }) => userId ?? [])))
  const rows = counted
    .filter(({ userId }) => userId === null || known.has(userId))
    .map(rowOf)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  for (let at = 0; at < rows.length; at += rowsPerStatement) {
    const insert = db.insertInto('mirror_decisions').values(rows.slice(at, at + rowsPerStatement))
    await changeRows(
      em,
      insert.onConflict((conflict) =>
        conflict.column('key').doUpdateSet((eb) => {
          const [count, lastAt] = [eb.ref('mirror_decisions.count'), eb.ref('mirror_decisions.last_at')]
          const [further, latest] = [eb.ref('excluded.count'), eb.ref('excluded.last_at')]
          return {
            count: eb
              .case()
              .when(count, '<', maxCount)
              .then(eb(count, '+', further))
              .else(count)
              .end(),
            last_at: eb.case().when(lastAt, '<', latest).then(latest).else(lastAt).end(),
          }
        }),
      ),
    )
  }
}

function rowOf(one: Counted) {
  const { outcome, rule, packageName, version, reason, userId, count, lastAt } = one
  const key = createHash('sha256')
    .update(JSON.stringify(identityOf(one)))
    .digest('hex')
  const decision = { outcome, rule, package_name: packageName, version, reason, user_id: userId }
  return { id: newId(), created_at: lastAt, key, ...decision, count, last_at: lastAt }
}

async function knownUsers(em: EntityManager, ids: Set<string>): Promise<Set<string>> {
  if (ids.size === 0) return new Set()
  const users = db.selectFrom('users').select('id')
  const rows = await readRows(em, users.where('id', 'in', [...ids]))
  return new Set(rows.map(({ id }) => id))
}

const dayMs = 86_400_000
/** How long a decision is kept after it was last repeated. */
const keptDays = 90
/** Maximum number of decisions in the database. The ones that were not repeated for the longest time are deleted first. */
const maxStored = 200_000

/** Deletes decisions that were not repeated for 90 days, and the oldest ones if there are too many. */
export async function deleteOldDecisions({ database, now }: Pick<Services, 'database' | 'now'>, max = maxStored): Promise<void> {
  const em = database.fork()
  const before = new Date(now().getTime() - keptDays * dayMs)
  await changeRows(em, db.deleteFrom('mirror_decisions').where('last_at', '<', before))
  // Deletes all decisions of the same moment, too: which of them are newer is unknown.
  const newestExcess = db.selectFrom('mirror_decisions').select('last_at').orderBy('last_at', 'desc').limit(1).offset(max)
  await changeRows(em, db.deleteFrom('mirror_decisions').where('last_at', '<=', newestExcess))
}

type Filter = { rule?: string | null | undefined; outcome?: Outcome | null | undefined; q?: string | null | undefined }
type Page = PageArguments & { offset?: number | null | undefined }

/** Returns the decisions as a connection, most recently repeated first. `q` filters by part of the package name. */
export function listDecisions(em: EntityManager, { rule, outcome, q }: Filter, { offset, ...page }: Page) {
  const where: FilterQuery<MirrorDecision> = {
    ...(rule && { rule }),
    ...(outcome && { outcome }),
    ...(q && { [raw((alias) => `${alias}.package_name like ? escape '!'`, [containing(q)])]: [] }),
  }
  return pageByKey(page, {
    keyOf: ({ lastAt, id }: MirrorDecision) => momentKey(lastAt, id),
    isKey: isMomentKey,
    count: () => em.count(MirrorDecision, where),
    load: (limit, key) =>
      em.find(
        MirrorDecision,
        { $and: [where, key === undefined ? {} : before(key)] },
        { orderBy: { lastAt: 'desc', id: 'desc' }, limit, offset: offset ?? 0 },
      ),
  })
}

function before(key: string): FilterQuery<MirrorDecision> {
  const { moment, id } = readMomentKey(key)
  return { $or: [{ lastAt: { $lt: moment } }, { lastAt: moment, id: { $lt: id } }] }
}

/** Decisions of a rule with the same outcome, in numbers. */
export type Effect = { rule: string; outcome: Outcome; requests: number; packages: number; people: number }

/** Counts decisions that were repeated in the last 30 days, by rule and outcome. `requests` includes earlier repetitions of the same decisions. */
export async function countEffects({ em, now }: { em: EntityManager; now: () => Date }): Promise<Effect[]> {
  return readRows(
    em,
    db
      .selectFrom('mirror_decisions')
      .select(({ fn }) => [
        'rule',
        'outcome',
        fn.sum<number>('count').as('requests'),
        fn.count<number>('package_name').distinct().as('packages'),
        fn.count<number>('user_id').distinct().as('people'),
      ])
      .where('last_at', '>=', new Date(now().getTime() - 30 * dayMs))
      .groupBy(['rule', 'outcome'])
      .orderBy('rule')
      .orderBy('outcome'),
  )
}

/** Counts the verdicts on a request. Enforced ones that only mark a version as retracted do not reject it and are not counted. */
export function recordVerdicts(context: Context, packageName: string, version: string, verdicts: readonly Verdict[]): void {
  const userId = context.viewer?.id ?? null
  for (const { rule, mode, effect, reason } of verdicts) {
    if (mode === 'enforce' && effect === 'retract') continue
    countDecision(context, { outcome: mode === 'enforce' ? 'refused' : 'audited', rule, packageName, version, reason, userId })
  }
}

/** Counts the verdicts on a request and returns the error for the enforced one among them. Without a version, the request is for the package. */
export function recordRejection(context: Context, name: string, version: string, verdicts: Verdict[]) {
  recordVerdicts(context, name, version, verdicts)
  return insufficientPermissions(rejectingVerdict(verdicts)?.reason ?? `A policy of this server does not allow ${name}.`)
}
