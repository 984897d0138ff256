import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import { conflict, invalidInput, notFound } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { type IssuerPreset, TokenIssuer } from './entity.ts'
import { fetchKeys, refreshKeys } from './keys.ts'

/**
 * Adds an issuer with its keys.
 * @throws ApiError InvalidInput if its keys cannot be fetched; Conflict if it exists.
 */
export async function createIssuer(
  context: SignedInContext,
  { name, issuerUrl: url, preset }: { name: string; issuerUrl: string; preset: IssuerPreset },
): Promise<TokenIssuer> {
  const { viewer, now, ip } = context
  if (await context.em.count(TokenIssuer, { url })) throw issuerExists(url)
  const keySet = await fetchKeys(context, url).catch((error: unknown) => {
    if (!(error instanceof NotFetched)) throw error
    throw invalidInput(`issuerUrl: the keys of ${url} could not be fetched: ${error.message}`.slice(0, 500), 'issuerUrl')
  })
  const at = now()
  try {
    return await context.em.fork().transactional(async (em) => {
      const row = { name, url, preset, keySet, keysFetchedAt: at, keysTriedAt: at, keyProblem: null, createdAt: at }
      const issuer = em.create(TokenIssuer, row)
      audit(em, { kind: 'token_issuer.added', actor: viewer, summary: `${viewer.displayName} added the CI system ${name} (${url})`, ip })
      await em.flush()
      return issuer
    })
  } catch (error) {
    throw error instanceof UniqueConstraintViolationException ? issuerExists(url) : error
  }
}

const issuerExists = (url: string) => conflict(`The issuer ${url} already exists.`)

/** Renames an issuer. @throws ApiError NotFound */
export const updateIssuer = (context: SignedInContext, id: string, name: string): Promise<TokenIssuer> =>
  changeIssuer(context, id, 'changed', async (_em, issuer) => {
    issuer.name = name
    return issuer
  })

/** Deletes an issuer with its rules and verified tokens. @throws ApiError NotFound */
export const deleteIssuer = (context: SignedInContext, id: string): Promise<void> =>
  changeIssuer(context, id, 'removed', async (em, issuer) => void em.remove(issuer))

/** Fetches the keys of an issuer now. @throws ApiError NotFound */
export async function refreshIssuer(context: SignedInContext, id: string): Promise<TokenIssuer> {
  const issuer = await context.em.findOne(TokenIssuer, { id })
  if (!issuer) throw unknownIssuer()
  await refreshKeys(context, issuer)
  return context.em.fork().findOneOrFail(TokenIssuer, { id })
}

function changeIssuer<Result>(
  context: SignedInContext,
  id: string,
  did: 'changed' | 'removed',
  change: (em: EntityManager, issuer: TokenIssuer) => Promise<Result>,
): Promise<Result> {
  const { viewer, ip } = context
  return context.em.fork().transactional(async (em) => {
    const issuer = await lockIssuer(em, id)
    const result = await change(em, issuer)
    const summary = `${viewer.displayName} ${did} the CI system ${issuer.name} (${issuer.url})`
    audit(em, { kind: `token_issuer.${did}`, actor: viewer, summary, ip })
    return result
  })
}

/** Returns an issuer, locked against jobs that are being matched with its rules. @throws ApiError NotFound */
export async function lockIssuer(em: EntityManager, id: string): Promise<TokenIssuer> {
  const issuer = await em.findOne(TokenIssuer, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!issuer) throw unknownIssuer()
  return issuer
}

export const unknownIssuer = () => notFound('There is no CI system with this id on this server.')

/** Makes the next request of every job of an issuer evaluate the rules again. */
export async function forgetMatches(em: EntityManager, issuerId: string): Promise<void> {
  const jobs = db.selectFrom('ci_jobs').select('id').where('issuer_id', '=', issuerId)
  await changeRows(em, db.deleteFrom('ci_job_rules').where('job_id', 'in', jobs))
}
