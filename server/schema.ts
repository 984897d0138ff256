import './graphql/scalars.ts'
import './graphql/rate-limit.ts'
import './users/schema.ts'
import './accounts/schema.ts'
import './accounts/admin-schema.ts'
import './account-deletion/schema.ts'
import './accounts/list-schema.ts'
import './invites/schema.ts'
import './sessions/schema.ts'
import './sessions/admin-schema.ts'
import './tokens/schema.ts'
import './oauth/schema.ts'
import './tokens/list-schema.ts'
import './audit/schema.ts'
import './audit/history-schema.ts'
import './audit/retention-schema.ts'
import './setup/schema.ts'
import './addresses/schema.ts'
import './health/server-schema.ts'
import './health/schema.ts'
import './self-check/schema.ts'
import './integrity/schema.ts'
import './backup/schedule/schema.ts'
import './integrity/faults-schema.ts'
import './packages/schema.ts'
import './packages/own/schema.ts'
import './packages/versions/package-schema.ts'
import './packages/versions/schema.ts'
import './packages/retraction/schema.ts'
import './packages/options/schema.ts'
import './packages/uploaders/schema.ts'
import './packages/history/schema.ts'
import './packages/versions/document-schema.ts'
import './packages/deletion/schema.ts'
import './packages/dependents/schema.ts'
import './packages/administration/schema.ts'
import './names/schema.ts'
import './uploads/schema.ts'
import './search/schema.ts'
import './downloads/schema.ts'
import './likes/schema.ts'
import './scoring/schema.ts'
import './docs/schema.ts'
import './scoring/admin-schema.ts'
import './scoring/log-schema.ts'
import './scoring/api-changes/schema.ts'
import './scoring/watch-schema.ts'
import './legal/schema.ts'
import './stats/schema.ts'
import './advisories/schema.ts'
import './advisories/package-schema.ts'
import './advisories/import-schema.ts'
import './publishers/schema.ts'
import './publishers/change-schema.ts'
import './publishers/members-schema.ts'
import './publishers/verify-schema.ts'
import './visibility/schema.ts'
import './visibility/switch-schema.ts'
import './packages/publisher/schema.ts'
import './packages/publisher/publisher-schema.ts'
import './jobs/schema.ts'
import './scoring/job-schema.ts'
import './job-control/schema.ts'
import './sdks/schema.ts'
import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import { builder } from './graphql/builder.ts'
import { admissionOf } from './graphql/caller-check.ts'
import type { Context } from './access/context.ts'
import { enforceBudget } from './graphql/pacing.ts'
import { neverCompress } from './http/caching/compression.ts'
import { argumentCheck } from './graphql/arguments.ts'
import { requireSetup } from './access/setup-gate.ts'

/** The schema that both GraphQL and REST execute. */
export const schema = gated()

/** Returns the content of `schema.graphql`. Types and fields are sorted to keep diffs small. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`

/**
 * Builds the schema and wraps its fields: root fields run their admission checks (caller-check.ts) before their arguments are validated, arguments
 * are checked (arguments.ts), and responses with a field marked `secret` are not compressed.
 */
function gated() {
  const built = builder.toSchema()
  const fields = Object.values(built.getTypeMap()).flatMap((type) => (isObjectType(type) ? Object.values(type.getFields()) : []))
  for (const field of fields) guardArguments(built, field)
  for (const field of fields) if (field.extensions.secret) sendPlainly(field)
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
  return built
}

/**
 * Disables compression for responses that contain the field, because the field is secret and the response may contain text from the caller (see
 * `neverCompress`).
 */
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
