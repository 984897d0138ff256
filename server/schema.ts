import './platform/graphql/types.ts'
import './accounts/users/schema.ts'
import './accounts/profile/schema.ts'
import './accounts/profile/admin-schema.ts'
import './registry/account-deletion/schema.ts'
import './accounts/invites/schema.ts'
import './accounts/sessions/schema.ts'
import './accounts/providers/schema.ts'
import './accounts/providers/provider-schema.ts'
import './accounts/providers/admin-schema.ts'
import './accounts/security/passkey-schema.ts'
import './accounts/security/schema.ts'
import './accounts/tokens/schema.ts'
import './accounts/oauth/schema.ts'
import './accounts/audit/schema.ts'
import './accounts/setup/schema.ts'
import './operations/checks/schema.ts'
import './operations/backup/schedule/schema.ts'
import './operations/integrity/schema.ts'
import './registry/packages/schema.ts'
import './registry/packages/versions/schema.ts'
import './registry/packages/options/schema.ts'
import './registry/packages/owners/schema.ts'
import './registry/packages/owners/access-schema.ts'
import './registry/packages/deletion/schema.ts'
import './registry/packages/dependencies/schema.ts'
import './registry/packages/dependents/schema.ts'
import './registry/restoration/schema.ts'
import './registry/packages/administration/schema.ts'
import './registry/files/schema.ts'
import './registry/images/schema.ts'
import './registry/comparison/schema.ts'
import './registry/upgrades/schema.ts'
import './registry/upgrades/apps/schema.ts'
import './registry/names/schema.ts'
import './registry/mirror/schema.ts'
import './registry/mirror/package-schema.ts'
import './registry/mirror/policies/schema.ts'
import './registry/mirror/policies/decision-schema.ts'
import './registry/mirror/policies/exemption-schema.ts'
import './registry/uploads/schema.ts'
import './registry/trusted-publishing/issuer-schema.ts'
import './registry/trusted-publishing/schema.ts'
import './registry/trusted-publishing/change-schema.ts'
import './registry/search/schema.ts'
import './registry/search/symbols/schema.ts'
import './registry/downloads/schema.ts'
import './registry/likes/schema.ts'
import './analysis/scoring/schema.ts'
import './analysis/docs/schema.ts'
import './analysis/scoring/admin-schema.ts'
import './analysis/scoring/api-changes/schema.ts'
import './operations/identity/schema.ts'
import './operations/legal/schema.ts'
import './operations/stats/schema.ts'
import './operations/stats/series-schema.ts'
import './operations/attention/schema.ts'
import './operations/checklist/schema.ts'
import './registry/advisories/schema.ts'
import './registry/advisories/package-schema.ts'
import './registry/publishers/schema.ts'
import './registry/publishers/change-schema.ts'
import './registry/publishers/members-schema.ts'
import './registry/publishers/verify-schema.ts'
import './registry/service-accounts/schema.ts'
import './registry/visibility/schema.ts'
import './registry/watching/schema.ts'
import './platform/jobs/schema.ts'
import './analysis/sdks/schema.ts'
import {
  defaultFieldResolver,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isNonNullType,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import { builder } from './platform/graphql/builder.ts'
import { admissionOf } from './platform/graphql/caller-check.ts'
import type { Context } from './platform/access/context.ts'
import { addFormerNames } from './platform/graphql/former-schema.ts'
import { enforceBudget, argumentCheck } from './platform/graphql/field-guards.ts'
import { type ErrorCode, statusOf } from './errors.ts'
import { neverCompress } from './platform/http/caching/compression.ts'
import { requireSetup } from './platform/access/setup-gate.ts'

/** Mutations that fail with a code, besides the codes that follow from their declaration (see `describeErrors`). Any other code is a fault. */
const failures: Partial<Record<ErrorCode, string>> = {
  MissingAuthentication: 'login signInWithPasskey',
  InsufficientPermissions: `acceptInvite acceptInviteWithProvider completeSetup login signInWithPasskey signUp startPasskeySignIn
    verifySetupCode`,
  NotFound: `acceptInvite acceptInviteWithProvider addMirrorExemption addTrustedPublisher addUploader approveAuthorization approveDevice approveName
    cancelJob changeVisibility checkPublisherDomain completeDomainVerification completeSetup confirmIdentity createInvite
    createServiceAccount createServiceAccountToken deleteApp deleteOidcProvider deletePackage deletePublisher deleteServiceAccount
    deleteTokenIssuer deleteUser deleteVersion denyAuthorization denyDevice finalizeUpload freeName installSdk likePackage linkIdentity
    rebuildSdk refreshMirroredPackage refreshTokenIssuer regenerateDocumentation rejectName removeAdvisory removeMirrorExemption removeMirroredPackage
    removePasskey removePublisherMember removeSdk removeTrustedPublisher removeUploader renamePasskey rescoreVersion resetPassword
    resetSecondFactor restoreDeletedPackage retryJob revokeServiceAccountToken revokeSession revokeToken revokeUserSession
    revokeUserSessions revokeUserToken rotateServiceAccountToken rotateToken saveApp setDefaultSdk setPackagePublisher setPublisherMember
    testOidcProvider transferOwnership unlikePackage unlinkIdentity unwatchPackage updateMirrorPolicies updateOidcGroupRules updateOidcProvider
    updatePackageOptions updatePublisher updateScoringSettings updateServiceAccount updateTokenIssuer updateTrustedPublisher updateUser
    updateVersionOptions verifySetupCode watchPackage withdrawAdvisory`,
  PackageRejected: 'finalizeUpload restoreDeletedPackage',
  Conflict: `acceptInvite addMirrorExemption addTrustedPublisher approveName cancelJob changeVisibility completeDomainVerification completeSetup
    confirmTotp createInvite createOidcProvider createPublisher createServiceAccountToken createTokenIssuer createUser
    deleteOidcProvider deletePackage deletePublisher deleteServiceAccount deleteUser deleteVersion disableTotp finalizeUpload freeName
    installSdk proveTotp rebuildSdk regenerateDocumentation regenerateRecoveryCodes registerPasskey rejectName removePasskey
    removePublisherMember removeSdk removeUploader rescoreAllVersions rescoreVersion rescoreVersions resetPassword resetSecondFactor
    restoreDeletedPackage retryJob rotateServiceAccountToken rotateToken saveApp scoreRemainingVersions setDefaultSdk setPackagePublisher setPublisherMember
    startDomainVerification startPasskeyProof startPasskeyRegistration startPasskeySignIn startTotp transferOwnership unlinkIdentity
    updateMirrorPolicies updateOidcProvider updatePackageOptions updateScoringSettings updateServiceAccount updateUser
    updateVersionOptions watchPackage`,
  RateLimitExceeded: `acceptInvite acceptInviteWithProvider addUploader approveDevice changePassword checkPublisherDomain
    completeDomainVerification completeSetup confirmIdentity confirmPassword confirmTotp createUpload denyDevice finalizeUpload
    linkIdentity login proveTotp revokeTokenBySecret setPublisherMember signInWithPasskey signUp startDomainVerification startPasskeyProof
    startPasskeyRegistration startPasskeySignIn testOidcProvider transferOwnership verifySetupCode`,
  VerificationTemporarilyUnavailable: 'checkPublisherDomain completeDomainVerification',
}

/** Fields of `Query` that no caller is rejected. */
const neverRejected = ['health', 'legalDocument', 'server', 'setup']

/** The schema that both GraphQL and REST execute. */
export const schema = gated()

/** Returns the content of `schema.graphql`. Types and fields are sorted to keep diffs small. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`

/**
 * Builds the schema and wraps its fields: root fields run their admission checks (caller-check.ts) before their arguments are validated, arguments
 * are checked (field-guards.ts), and responses with a field marked `secret` are not compressed.
 */
function gated() {
  const built = builder.toSchema()
  const objects = Object.values(built.getTypeMap()).filter((type) => isObjectType(type))
  const fields = objects.flatMap((type) => Object.values(type.getFields()))
  for (const field of fields) pageForward(field)
  addFormerNames(built)
  for (const field of fields) guardArguments(built, field)
  for (const field of fields) if (field.extensions.secret) sendPlainly(field)
  Object.values(built.getMutationType()?.getFields() ?? {}).forEach(describeErrors)
  for (const type of [built.getQueryType(), built.getMutationType()] as GraphQLObjectType<unknown, Context>[]) {
    for (const field of Object.values(type.getFields())) {
      requireDeclaration(type.name, field)
      const admit = admissionOf(field)
      if (!admit) continue
      const resolve = field.resolve ?? defaultFieldResolver
      field.resolve = async (root, args, context, info) => {
        await admit(context)
        return resolve(root, args, context, info)
      }
    }
  }
  for (const field of Object.values(built.getSubscriptionType()?.getFields() ?? {})) guardSubscription(built, field)
  fields.forEach(enforceBudget)
  const query = Object.values(built.getQueryType()?.getFields() ?? {})
  query.filter(({ name }) => !neverRejected.includes(name)).forEach(makeNullable)
  // Pothos has no option for the descriptions of the arguments of `node` and `nodes`.
  for (const { name, args } of query)
    if (/^nodes?$/.test(name)) for (const argument of args) argument.description = 'Global id, as in `id`.'
  for (const type of objects.filter(({ name }) => !['Query', 'Mutation', 'Subscription'].includes(name)))
    for (const field of Object.values(type.getFields())) if (isGuarded(type, field)) makeNullable(field)
  return built
}

/** Removes `last` and `before`, which Pothos adds to every connection: lists are read forward only. */
function pageForward(field: GraphQLField<unknown, Context>): void {
  if (!getNamedType(field.type).name.endsWith('Connection')) return
  field.args = field.args.filter(({ name }) => name !== 'last' && name !== 'before')
}

/** Lists the codes of a mutation's errors in its description. Codes that every operation can have are described by the enum. */
function describeErrors(field: GraphQLField<unknown, Context>): void {
  const { authScopes, skipTypeScopes } = ruleOf(field)
  const codes = new Set<ErrorCode>()
  if (authScopes !== undefined || !skipTypeScopes) codes.add('MissingAuthentication').add('InsufficientPermissions')
  if (field.args.length > 0) codes.add('InvalidInput')
  for (const [code, names = ''] of Object.entries(failures)) if (names.split(/\s+/).includes(field.name)) codes.add(code as ErrorCode)
  const listed = Object.keys(statusOf).filter((code) => codes.has(code as ErrorCode))
  field.description = `${field.description} Errors: ${listed.map((code) => `\`${code}\``).join(', ')}.`
}

type Rule = { authScopes?: unknown; skipTypeScopes?: boolean }

function ruleOf({ extensions }: { extensions: object }): Rule {
  return (extensions as { pothosOptions?: Rule }).pothosOptions ?? {}
}

/**
 * Whether callers who can read some fields of an object may not read this one: it declares a rule of its own, or its resolver checks the caller
 * (`extensions: { guarded }`), or it follows the rule of its type, from which other fields are exempt.
 */
function isGuarded(type: GraphQLObjectType<unknown, Context>, field: GraphQLField<unknown, Context>): boolean {
  const { authScopes, skipTypeScopes } = ruleOf(field)
  if (field.extensions.guarded) return true
  if (skipTypeScopes) return false
  const followsType = ruleOf(type).authScopes !== undefined
  return authScopes !== undefined || (followsType && Object.values(type.getFields()).some((other) => ruleOf(other).skipTypeScopes))
}

/** Makes a field nullable, so that rejecting it leaves the fields next to it. It is null only together with an error. */
function makeNullable(field: GraphQLField<unknown, Context>): void {
  if (!isNonNullType(field.type)) return
  field.type = field.type.ofType
  Object.assign(field.extensions, { isNullOnlyWithError: true })
}

/** Disables compression for responses that contain the field, which is secret (see `neverCompress`). */
function sendPlainly(field: GraphQLField<unknown, Context>): void {
  const resolve = field.resolve ?? defaultFieldResolver
  field.resolve = (parent, args, context, info) => {
    neverCompress(context.reply)
    return resolve(parent, args, context, info)
  }
}

/** Checks the arguments of a subscription when it starts. */
function guardSubscription(built: GraphQLSchema, field: GraphQLField<unknown, Context>): void {
  requireDeclaration('Subscription', field)
  const { subscribe } = field
  if (!subscribe) throw new Error(`Subscription.${field.name} has no events`)
  const check = argumentCheck(built, field)
  field.subscribe = async (root, args, context, info) => {
    await requireSetup(context)
    check?.(args as Record<string, unknown>)
    return subscribe(root, args, context, info)
  }
}

function guardArguments(built: GraphQLSchema, field: GraphQLField<unknown, Context>): void {
  const check = argumentCheck(built, field)
  if (!check) return
  const resolve = field.resolve ?? defaultFieldResolver
  field.resolve = (parent, args, context, info) => {
    check(args as Record<string, unknown>)
    return resolve(parent, args, context, info)
  }
}

/** Throws at startup if a root field declares no authorization. */
function requireDeclaration(type: string, { name, extensions }: GraphQLField<unknown, Context>): void {
  const { authScopes, skipTypeScopes } = (extensions.pothosOptions ?? {}) as { authScopes?: unknown; skipTypeScopes?: boolean }
  if (!authScopes && !skipTypeScopes) throw new Error(`${type}.${name} declares no authorization`)
}
