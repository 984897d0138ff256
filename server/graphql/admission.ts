import { type GraphQLField, type GraphQLSchema, Kind, type OperationDefinitionNode } from 'graphql'
import type { Context } from '../access/context.ts'
import { requireSetup } from '../access/setup-gate.ts'
import { refuseForeignOrigin } from '../http/csrf.ts'
import { addressKey, type LimitName } from '../http/limits.ts'

export type Admission = (context: Context) => Promise<void>

/**
 * What a root field asks of every request before its arguments are judged, as its extensions say (builder.ts): the first owner, no page of
 * another site, its own `admit`, and a use of its `limit` by this address. Null when it asks nothing.
 */
export function admissionOf({ extensions }: Pick<GraphQLField<unknown, Context>, 'extensions'>): Admission | null {
  const { beforeSetup, ownOrigin } = extensions
  const { admit, limit } = extensions as { admit?: (context: Context) => unknown; limit?: LimitName }
  if (beforeSetup && !ownOrigin && !admit && !limit) return null
  return async (context) => {
    if (!beforeSetup) await requireSetup(context)
    if (ownOrigin) refuseForeignOrigin(context.request, context.config.SERVER_URL)
    if (admit) await admit(context)
    if (limit) await context.limits.use(limit, addressKey(context.ip))
  }
}

/** The same of an operation's root fields: for a request that does not fit, of which no field hears. */
export function operationAdmission(schema: GraphQLSchema, { operation, selectionSet }: OperationDefinitionNode): Admission {
  const fields = schema.getRootType(operation)?.getFields() ?? {}
  const admissions = selectionSet.selections.flatMap((node) => {
    const field = node.kind === Kind.FIELD ? fields[node.name.value] : undefined
    return (field && admissionOf(field)) ?? []
  })
  return async (context) => {
    for (const admit of admissions) await admit(context)
  }
}
