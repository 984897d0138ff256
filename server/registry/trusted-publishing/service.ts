import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { conflict, insufficientPermissions, invalidInput, notFound } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { adviceForAdmin } from '../../platform/access/roles.ts'
import { notAdministered } from '../packages/change-package.ts'
import { Package } from '../packages/entity.ts'
import { unknownPackage } from '../packages/parameters.ts'
import { canAdminister } from '../packages/policy.ts'
import type { Publisher } from '../publishers/entity.ts'
import { canAdministerPublisher } from '../publishers/policy.ts'
import { lockPublisher } from '../publishers/service.ts'
import { TokenIssuer, TrustedPublisher } from './entity.ts'
import { forgetMatches, lockIssuer } from './issuers.ts'
import { canAdministerRule } from './list.ts'
import { identifiesOwner, presetClaims } from './preset-claims.ts'
import { spelledOut } from './rules.ts'

/** Maximum numbers of rules of a package or publisher, and of claims of a rule. */
const maxRules = 20
export const maxClaims = 20

/** What a rule requires of a job. Members that are null or left out allow any value. */
type RuleInput = {
  tokenIssuerId: { id: string }
  label?: string | null | undefined
  repository?: string | null | undefined
  workflow?: string | null | undefined
  environment?: string | null | undefined
  events?: string[] | null | undefined
  claims?: { claim: string; pattern: string }[] | null | undefined
  tagPattern?: string | null | undefined
  isReadOnly?: boolean | null | undefined
}

type Owner = { package?: string | null | undefined; publisherId?: { id: string } | null | undefined }

/**
 * Adds a rule to a package or a publisher.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput; Conflict if there are 20 rules.
 */
export function addRule(context: SignedInContext, input: RuleInput & Owner): Promise<TrustedPublisher> {
  const { viewer, now } = context
  const columns = toColumns(input)
  return context.em.fork().transactional(async (em) => {
    const owner = await lockOwner(em, context, input)
    // MikroORM replaces entities in the filter by their ids.
    if ((await em.count(TrustedPublisher, { ...owner })) >= maxRules)
      throw conflict(`${nameOf(owner)} has ${maxRules} trusted publishers, which is the limit. Remove one first.`)
    const issuer = await lockIssuer(em, input.tokenIssuerId.id)
    const rule = em.create(TrustedPublisher, {
      ...owner,
      ...columns,
      issuer,
      createdBy: em.getReference(User, viewer.id),
      createdAt: now(),
    })
    requireFit(rule)
    record(em, context, rule, 'added')
    await em.flush()
    await forgetMatches(em, issuer.id)
    return rule
  })
}

/**
 * Replaces what a rule requires. The lock on the repository stays unless the issuer or the repository changes.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput.
 */
export function updateRule(context: SignedInContext, id: string, input: RuleInput): Promise<TrustedPublisher> {
  const columns = toColumns(input)
  return changeRule(context, id, [input.tokenIssuerId.id], async (em, rule) => {
    const issuer = await em.findOneOrFail(TokenIssuer, { id: input.tokenIssuerId.id })
    const isOther = rule.issuer.id !== issuer.id || (rule.repository ?? null) !== columns.repository
    const before = rule.issuer.id
    em.assign(rule, { ...columns, issuer, ...(isOther && { lockedRepositoryId: null, lockedOwnerId: null }) })
    requireFit(rule)
    record(em, context, rule, 'changed')
    await em.flush()
    await forgetMatches(em, before)
    if (before !== issuer.id) await forgetMatches(em, issuer.id)
    return rule
  })
}

/** Removes a rule. Jobs that it allowed can do nothing more from the next request on. @throws ApiError NotFound; InsufficientPermissions. */
export function removeRule(context: SignedInContext, id: string): Promise<void> {
  return changeRule(context, id, [], async (em, rule) => {
    record(em, context, rule, 'removed')
    em.remove(rule)
  })
}

/** Makes a change with the rule locked. Its issuer and `issuers` are locked before it, as jobs lock them when they are matched with rules. */
function changeRule<Result>(
  context: SignedInContext,
  id: string,
  issuers: string[],
  change: (em: EntityManager, rule: TrustedPublisher) => Promise<Result>,
): Promise<Result> {
  return context.em.fork().transactional(async (em) => {
    const known = await em.findOne(TrustedPublisher, { id })
    if (!known) throw unknownRule()
    const before = known.issuer.id
    for (const issuer of [...new Set([before, ...issuers])].toSorted()) await lockIssuer(em, issuer)
    const rule = await em.findOne(TrustedPublisher, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
    if (!rule) throw unknownRule()
    if (rule.issuer.id !== before) throw conflict('The CI system of this trusted publisher has just been changed. Try again.')
    await em.populate(rule, ['package', 'publisher'])
    if (!(await canAdministerRule(em, context, rule))) throw notAllowed(context, rule)
    return change(em, rule)
  })
}

const unknownRule = () => notFound('There is no trusted publisher with this id on this server.')

const notAllowed = (context: SignedInContext, rule: { package?: { name?: string } | null; publisher?: { id: string } | null }) =>
  insufficientPermissions(
    (rule.publisher
      ? `You do not administer the publisher ${rule.publisher.id}. Ask one of its admins.`
      : notAdministered(rule.package?.name ?? '')) + adviceForAdmin(context),
  )

/** Returns the package or publisher of a new rule, locked. */
async function lockOwner(
  em: EntityManager,
  context: SignedInContext,
  input: Owner,
): Promise<{ package: Package } | { publisher: Publisher }> {
  if ((input.package == null) === (input.publisherId == null))
    throw invalidInput('package: name either a package or a publisher.', 'package')
  if (input.publisherId) {
    const publisher = await lockPublisher(em, input.publisherId.id)
    if (!(await canAdministerPublisher(em, context, publisher))) throw notAllowed(context, { publisher })
    return { publisher }
  }
  const name = input.package ?? ''
  const pkg = await em.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!pkg) throw unknownPackage(name)
  if (!(await canAdminister(em, context, pkg))) throw notAllowed(context, { package: pkg })
  return { package: pkg }
}

const nameOf = (owner: { package?: { name?: string } | null; publisher?: { id: string } | null }): string =>
  owner.publisher ? `The publisher ${owner.publisher.id}` : (owner.package?.name ?? '')

/** Checks the parts of a rule against each other. @throws ApiError InvalidInput */
function toColumns({ repository, workflow, environment, tagPattern, ...input }: RuleInput) {
  const trimmed = (value: string | null | undefined) => value?.trim() || null
  const columns = {
    repository: trimmed(repository),
    workflow: trimmed(workflow),
    environment: trimmed(environment),
    tagPattern: trimmed(tagPattern),
  }
  const claims = (input.claims ?? []).map(({ claim, pattern }) => [claim, pattern] as const)
  if (new Map(claims).size < claims.length) throw invalidInput('claims: name each claim once.', 'claims')
  if (columns.tagPattern !== null && !/^[^{}]*$/.test(columns.tagPattern.replace(/\{\{(?:version|name)\}\}/g, '')))
    throw invalidInput('tagPattern: may contain {{version}} and {{name}} only.', 'tagPattern')
  if (columns.tagPattern !== null && columns.tagPattern.split('{{version}}').length !== 2)
    throw invalidInput('tagPattern: must contain {{version}} once, such as v{{version}}.', 'tagPattern')
  return {
    ...columns,
    label: trimmed(input.label) ?? '',
    events: (input.events ?? []).join(','),
    claims: JSON.stringify(Object.fromEntries(claims)),
    isReadOnly: input.isReadOnly ?? false,
  }
}

/** Checks a rule against what the tokens of its issuer contain. @throws ApiError InvalidInput */
function requireFit(rule: TrustedPublisher): void {
  const { issuer, tagPattern, claims } = rule
  const patterns = JSON.parse(claims) as Record<string, string>
  requireOwner(rule, patterns)
  if (tagPattern != null && !presetClaims[issuer.preset].hasTags)
    throw invalidInput(`tagPattern: tokens of ${issuer.name} do not name tags, so a tag cannot be required.`, 'tagPattern')
  requireRef(rule, patterns)
}

/** Requires a rule to name whose jobs it allows, because anyone can register with most CI systems. */
function requireOwner({ issuer: { preset }, repository }: TrustedPublisher, patterns: Record<string, string>): void {
  const letter = preset === 'custom' ? undefined : /[^!-~]/u.exec(repository ?? '')?.[0]
  if (letter !== undefined) throw invalidInput(`repository: must not contain “${spelledOut(letter)}”.`, 'repository')
  const { repositoryWithOwner, ownerClaims } = presetClaims[preset]
  const name = repository?.replaceAll('*', '') ? repository : null
  if (name !== null && !repositoryWithOwner.test(name))
    throw invalidInput(`repository: name the owner in full, such as acme/*. Anyone can register a name that matches ${name}.`, 'repository')
  if (name !== null || identifiesOwner(preset, patterns)) return
  const claims = ownerClaims ? `its owner by one of the claims ${Object.keys(ownerClaims).join(', ')}` : 'a claim that identifies the job'
  throw invalidInput(`repository: name a repository, or ${claims}.`, 'repository')
}

/** Requires a rule for publishing to name a ref if the tokens of its issuer do not say reliably what started a job. */
function requireRef({ issuer: { preset }, ...rule }: TrustedPublisher, patterns: Record<string, string>): void {
  const { ref, hasTags, hidesPullRequests } = presetClaims[preset]
  if (rule.isReadOnly || rule.tagPattern != null || !hidesPullRequests) return
  // Bitbucket can limit the deployments of an environment to a branch.
  if (preset === 'bitbucket' && rule.environment != null) return
  if (preset === 'gitlab' && rule.events !== '' && !rule.events.split(',').includes('parent_pipeline')) return
  const names = preset === 'gitlab' ? [...ref, 'ref_protected'] : ref
  if (names.some((name) => (patterns[name] ?? '').replaceAll('*', '') !== '')) return
  const field = hasTags ? 'tagPattern' : 'environment'
  const other = preset === 'gitlab' ? ', or events without parent_pipeline' : ''
  throw invalidInput(
    `${field}: tokens of this CI system do not say which jobs pull requests start. Name ${hasTags ? 'a tag' : 'an environment'}, a claim ${names.join(' or ')}${other}.`,
    field,
  )
}

function record(em: EntityManager, { viewer, ip }: SignedInContext, rule: TrustedPublisher, did: 'added' | 'changed' | 'removed'): void {
  const { issuer, package: pkg, publisher, repository } = rule
  const who = repository ?? 'jobs with certain claims'
  const where = publisher ? `the publisher ${publisher.id}` : (pkg?.name ?? '')
  const preposition = { added: 'to', changed: 'of', removed: 'from' }[did]
  audit(em, {
    kind: `trusted_publisher.${did}`,
    actor: viewer,
    summary: `${viewer.displayName} ${did} the trusted publisher ${who} (${issuer.name}) ${preposition} ${where}`,
    ...(pkg && { package: pkg.name }),
    ...(publisher && { publisher: publisher.id }),
    ip,
  })
}
